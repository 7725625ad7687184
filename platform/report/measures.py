"""The figures that studies put side by side: where each stands in a run's summary, and how it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turncoat.platform.report.page import decimal, interval, percent


@dataclass(frozen=True)
class Measure:
    """section, key: where it stands. digits: after the point; None: it is a share, told in percent.

    scale: what the summary's figure is multiplied with.
    """

    section: str
    key: str
    digits: int | None = None
    scale: float = 1.0

    @property
    def is_share(self) -> bool:
        return self.digits is None

    def of(self, summary: Mapping[str, Any] | None) -> float | None:
        """The figure of one run; None where the run is not finished or has none."""
        value = ((summary or {}).get(self.section) or {}).get(self.key)
        return None if value is None else self.scale * value

    def told(self, value: float | None, bounds: Sequence[float] | None) -> tuple[str, str]:
        """(figure, its interval) as text."""
        if self.digits is None:
            return percent(value), interval(bounds)
        low_to_high = f"[{bounds[0]:.{self.digits}f}, {bounds[1]:.{self.digits}f}]" if bounds else ""
        return decimal(value, self.digits), low_to_high


MEGABYTE = 1e-6

COLUMNS: dict[str, Measure] = {
    "attack success": Measure("attack", "success_rate"),
    "accuracy before": Measure("victim", "initial_accuracy"),
    "accuracy after": Measure("victim", "clean_accuracy"),
    "stop rate": Measure("defence", "stop_rate"),
    "false positives": Measure("defence", "false_positive_rate"),
    "cost of defence": Measure("defence", "cost_share"),
}
"""Columns of a study of swarms."""

LENGTHS: dict[str, Measure] = {
    "length": Measure("victim", "length_mean", 1),
    "length / clean": Measure("victim", "length_ratio", 2),
}
"""In tokens, and as a multiple of the baseline's."""

IN_A_GRID = ("attack success", "accuracy after", "false positives", "stop rate", "cost of defence", *LENGTHS)
"""What a cell of a grid tells of swarms."""

FEDERATED: dict[str, Measure] = {
    "attack success": Measure("attack", "success_rate"),
    "accuracy before": Measure("victim", "initial_accuracy"),
    "accuracy after": Measure("victim", "clean_accuracy"),
    "uplink MB": Measure("traffic", "uplink_bytes", 3, MEGABYTE),
    "downlink MB": Measure("traffic", "downlink_bytes", 3, MEGABYTE),
    "count ×": Measure("traffic", "count", 2),
    "wire ×": Measure("traffic", "wire", 2),
    "σ ~ density": Measure("traffic", "sigma_nnz", 2),
    "malicious weight": Measure("traffic", "malicious_weight"),
    "malicious after rules": Measure("traffic", "malicious_factor"),
}
"""Columns of a study of federations, in a cell of a grid too. Those without any value are left out."""

EVERY = COLUMNS | LENGTHS | FEDERATED


def is_federated(summaries: Sequence[Mapping[str, Any] | None]) -> bool:
    """Whether the finished ones are of federations, or of their references."""
    return any("traffic" in summary for summary in summaries if summary)


def columns_of(summaries: Sequence[Mapping[str, Any] | None]) -> dict[str, Measure]:
    """The columns that a table of these runs has."""
    if not is_federated(summaries):
        return COLUMNS
    return {
        name: measure
        for name, measure in FEDERATED.items()
        if any(measure.of(summary) is not None for summary in summaries)
    }
