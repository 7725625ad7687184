"""Figures of several evaluations as one."""

from collections.abc import Sequence

from turncoat.platform.journal.metrics import Line


def pool(evaluations: Sequence[Line], key: str, count: str = "n") -> tuple[float, int]:
    """(how many, out of how many) over the evaluations in which the figure exists."""
    known = [line for line in evaluations if line[key] is not None]
    return sum(line[key] * line[count] for line in known), sum(line[count] for line in known)


def share(evaluations: Sequence[Line], key: str) -> float | None:
    """The figure over all evaluated completions."""
    total, n = pool(evaluations, key)
    return total / n if n else None
