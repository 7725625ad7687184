"""Runs side by side: figures with intervals, differences with intervals, and which settings differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from turncoat.platform.journal.journal import flat
from turncoat.platform.journal.metrics import Line
from turncoat.platform.report.curves import length_interval, out_of
from turncoat.platform.report.measures import COLUMNS, FEDERATED, LENGTHS, Measure, is_federated
from turncoat.platform.statistics import mean_interval, wilson

Bounds = tuple[float, float]

FIGURES: dict[str, Measure] = {
    "attack success": COLUMNS["attack success"],
    "accuracy": COLUMNS["accuracy after"],
    "stop rate": COLUMNS["stop rate"],
    "false positives": COLUMNS["false positives"],
    "cost": COLUMNS["cost of defence"],
    "length": LENGTHS["length"],
}
"""Of swarms. The cost is a share of the rounds' time, the length in tokens."""
FEDERATED_FIGURES: dict[str, Measure] = {
    name: FIGURES[name] for name in ("attack success", "accuracy", "length")
} | {name: measure for name, measure in FEDERATED.items() if measure.section == "traffic"}
"""Of federations, and of swarms beside them."""

NOT_COMPARED = ("name", "hardware.")
"""Keys of a config that say nothing about what was computed."""


@dataclass(frozen=True)
class Estimate:
    """A figure of an entry; method: whence its interval."""

    value: float
    interval: Bounds | None = None
    method: str | None = None

    def line(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": list(self.interval) if self.interval else None,
            "method": self.method,
        }


@dataclass(frozen=True)
class Entry:
    """A run, or the finished runs of an arm. Of each, by seed: summary, metrics lines, config."""

    name: str
    summaries: Sequence[Mapping[str, Any]]
    metrics: Sequence[Sequence[Line]]
    configs: Sequence[Mapping[str, Any]]

    @property
    def seeds(self) -> list[int]:
        return [summary["seed"] for summary in self.summaries]

    @property
    def defences(self) -> list[str]:
        """The labels of the defences, in their order; of a federation, the robust rules."""
        config = self.configs[0]
        sections = config["robust"] if "robust" in config else config["defences"]
        return [one.get("name") or one["kind"] for one in sections]

    @property
    def attack(self) -> str:
        """The attack on the data; in a federation, that on the numbers too."""
        found = self.summaries[0]["attack"]
        kinds = [found["kind"], found.get("lie")]
        return " + ".join(kind for kind in kinds if kind and kind != "none") or "none"

    def values(self, figure: str) -> list[float]:
        """The figure in each run that has it."""
        measure = (FIGURES | FEDERATED_FIGURES)[figure]
        return [value for one in self.summaries if (value := measure.of(one)) is not None]

    def estimate(self, figure: str) -> Estimate | None:
        """Mean over the runs. Interval: Student's t over several, Wilson's over one run's completions."""
        values = self.values(figure)
        if len(values) > 1:
            return Estimate(fmean(values), mean_interval(values), "t over seeds")
        if not values:
            return None
        if figure == "length":
            bounds = length_interval(self.metrics[0])
            return Estimate(values[0], bounds, "normal" if bounds else None)
        total = out_of(figure, self.metrics[0])
        if not total:
            return Estimate(values[0])
        return Estimate(values[0], wilson(round(values[0] * total), total), "Wilson")


def figures_of(entries: Sequence[Entry]) -> dict[str, Measure]:
    """What these are compared by: of federations, only what any of them has."""
    if not is_federated([summary for one in entries for summary in one.summaries]):
        return FIGURES
    return {
        name: measure
        for name, measure in FEDERATED_FIGURES.items()
        if any(one.values(name) for one in entries)
    }


def difference(figure: str, one: Entry, first: Entry) -> Estimate | None:
    """`one` minus `first`; None where either lacks the figure.

    Two runs: Newcombe's interval from their own (square-and-add; his method 10 where those are Wilson's),
    which takes them for independent. That is wide where both were evaluated on the same prompts: which
    prompt got which answer is not logged. Arms with the same seeds: Student's t over the differences, seed
    by seed. Other seeds: Welch's t. A run against an arm of several: no interval.
    """
    mine, theirs = one.estimate(figure), first.estimate(figure)
    if mine is None or theirs is None:
        return None
    delta = mine.value - theirs.value
    ours, others = one.values(figure), first.values(figure)
    if len(ours) == len(others) == 1:
        if mine.interval is None or theirs.interval is None:
            return Estimate(delta)
        return Estimate(delta, square_and_add(mine, theirs), "Newcombe")
    if len(ours) == len(others) == len(one.seeds) and one.seeds == first.seeds:
        pairs = [a - b for a, b in zip(ours, others, strict=True)]
        return Estimate(delta, mean_interval(pairs), "t, paired by seed")
    if min(len(ours), len(others)) > 1:
        return Estimate(delta, welch(ours, others), "Welch")
    return Estimate(delta)


def square_and_add(one: Estimate, first: Estimate) -> Bounds:
    """The interval of one - first from theirs: each side adds the squared distances that lead there.

    Source: Newcombe, Statistics in Medicine 17 (8), 1998, method 10; for means too: Zou and Donner,
    Statistics in Medicine 27 (10), 2008.
    """
    assert one.interval
    assert first.interval
    (low, high), (first_low, first_high) = one.interval, first.interval
    delta = one.value - first.value
    below = sqrt((one.value - low) ** 2 + (first_high - first.value) ** 2)
    above = sqrt((high - one.value) ** 2 + (first.value - first_low) ** 2)
    return delta - below, delta + above


def welch(one: Sequence[float], first: Sequence[float], confidence: float = 0.95) -> Bounds:
    """The interval of the difference of two means of independent values, of unequal variance.

    Source: Welch, Biometrika 34, 1947. Two sets without any spread give an interval of no width.
    """
    from scipy.stats import t

    parts = [stdev(values) ** 2 / len(values) for values in (one, first)]
    delta, error = fmean(one) - fmean(first), sqrt(sum(parts))
    if error == 0:
        return delta, delta
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (one, first), strict=True)
    )
    half = float(t.ppf((1 + confidence) / 2, freedom)) * error
    return delta - half, delta + half


def changed(one: Entry, first: Entry) -> dict[str, tuple[Any, Any]]:
    """Dotted key -> (value in `first`, value in `one`), where their configs differ; None for a key that is
    not there. Of arms, their first runs' configs without the seed.
    """
    skipped = NOT_COMPARED if len(one.seeds) == len(first.seeds) == 1 else (*NOT_COMPARED, "seed")
    here, there = flat(dict(one.configs[0])), flat(dict(first.configs[0]))
    return {
        key: (there.get(key), here.get(key))
        for key in sorted(here.keys() | there.keys())
        if here.get(key) != there.get(key) and not (key in skipped or key.startswith("hardware."))
    }
