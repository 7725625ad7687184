"""Intervals beside every figure: shares of completions, and means over seeds.

scipy.stats takes most of a second to import, so it is imported only where it is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a proportion, without continuity correction: (low, high).

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n) with p = successes / n and z the normal quantile.
    Source: Wilson, JASA 22 (158), 1927. Unlike p ± z·σ it stays within [0, 1] and keeps
    a width at its ends. Nothing observed (n = 0) leaves everything possible: (0.0, 1.0).

    Raises ValueError when successes is negative or more than n.
    """
    if n == 0 and successes == 0:
        return 0.0, 1.0
    if not 0 <= successes <= n:
        raise ValueError(f"successes is {successes}: allowed is 0 to n = {n}")
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of independent values, one per seed: (low, high), in their unit.

    mean ± t_{n−1} · s / √n, with the sample standard deviation s. Source: Student, Biometrika 6 (1), 1908.
    Equal values give an interval of no width. It may leave [0, 1] when the values are shares.

    Raises ValueError for fewer than two values: one run says nothing about the spread between runs.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"values has length {n}: an interval over seeds needs at least 2")
    from scipy.stats import t

    mean, half = fmean(values), float(t.ppf((1 + confidence) / 2, n - 1)) * stdev(values) / sqrt(n)
    return mean - half, mean + half


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's ρ of pairs of figures, ties by their mean rank; None where either is constant."""
    if any(len(set(figures)) < 2 for figures in zip(*pairs, strict=True)) or not pairs:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(pairs).statistic)


@dataclass(frozen=True, slots=True)
class Share:
    """`successes` out of `n`, e.g. completions that hold the payload out of those evaluated."""

    successes: int
    n: int

    @property
    def value(self) -> float | None:
        """The proportion, or None when nothing was observed."""
        return self.successes / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval."""
        return wilson(self.successes, self.n)
