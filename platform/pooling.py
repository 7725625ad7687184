"""Figures of several evaluations as one."""

from collections.abc import Sequence
from typing import Any

from turncoat.platform.journal.metrics import Line
from turncoat.platform.statistics import wilson


def pool(evaluations: Sequence[Line], key: str, count: str = "n") -> tuple[float, int]:
    """(how many, out of how many) over the evaluations in which the figure exists."""
    known = [line for line in evaluations if line[key] is not None]
    return sum(line[key] * line[count] for line in known), sum(line[count] for line in known)


def share(evaluations: Sequence[Line], key: str) -> float | None:
    """The figure over all evaluated completions."""
    total, n = pool(evaluations, key)
    return total / n if n else None


def outcome_of(evaluations: Sequence[Line], rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what came of the attack, of the policy): a summary's figures after `rounds`, and before the first."""
    first = [line for line in evaluations if line["round"] == 0]
    last = [line for line in evaluations if line["round"] == rounds]
    success, told = pool(last, "success_rate", "success_n")
    initial, initially_told = pool(first, "success_rate", "success_n")
    attack = {
        "success_rate": success / told if told else None,
        "success_interval": list(wilson(round(success), told)) if told else None,
        "initial_success_rate": initial / initially_told if initially_told else None,
    }
    victim = {
        "clean_accuracy": share(last, "accuracy"),
        "initial_accuracy": share(first, "accuracy"),
        "evaluated": sum(line["n"] for line in last),
        "length_mean": share(last, "length_mean"),
    }
    return attack, victim
