"""Intervals stand beside every figure of a report; a wrong one turns noise into a claim."""

import subprocess
import sys

import pytest

from turncoat.platform.statistics import Share, mean_interval, rank_correlation, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # z = 1.959964, z² = 3.841459.
        # 0 of 10: high = z² / (10 + z²). 10 of 10 mirrors it.
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        # 5 of 10: centre 1/2, half width z √(0.025 + z²/400) / (1 + z²/10)
        # = 1.959964 · 0.186021 / 1.384146 = 0.263406
        (5, 10, 0.236594, 0.763406),
        # 0 of 1000: z² / (1000 + z²)
        (0, 1000, 0.0, 0.003827),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_by_hand(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=1e-6)


def test_wilson_widens_with_confidence():
    """z = 2.575829, z² = 6.634897: high = z² / (10 + z²)."""
    assert wilson(0, 10, 0.99) == pytest.approx((0.0, 0.398855), abs=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(11, 10), (-1, 10), (1, 0)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match=f"successes is {successes}"):
        wilson(successes, n)


def test_mean_interval_by_hand():
    """1 … 5: mean 3, s² = 10/4, s/√5 = √0.5 = 0.707107; t(0.975, 4) = 2.776445, t(0.95, 4) = 2.131847."""
    assert mean_interval([1, 2, 3, 4, 5]) == pytest.approx((3 - 1.963243, 3 + 1.963243), abs=1e-6)
    assert mean_interval([1, 2, 3, 4, 5], 0.90) == pytest.approx((3 - 1.507443, 3 + 1.507443), abs=1e-6)


def test_equal_seeds_give_a_point():
    """Not NaN, which no JSON reader takes."""
    assert mean_interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


@pytest.mark.parametrize("values", [[], [0.9]])
def test_one_seed_has_no_interval(values):
    with pytest.raises(ValueError, match=f"length {len(values)}"):
        mean_interval(values)


def test_share():
    assert Share(5, 10).value == 0.5
    assert Share(5, 10).interval == wilson(5, 10)
    assert Share(0, 0).value is None
    assert Share(0, 0).interval == (0.0, 1.0)


def test_importing_statistics_loads_neither_scipy_nor_torch():
    """The command line reads this module; it must answer at once."""
    check = (
        "import sys, turncoat.platform.statistics; sys.exit('scipy' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_rank_correlation_of_a_known_example() -> None:
    """ρ = 1 − 6 Σ d² / n(n² − 1): ranks 1 2 3 4 against 2 1 4 3 give 1 − 6 · 4 / 60."""
    assert rank_correlation([(1, 20), (2, 10), (3, 400), (4, 300)]) == pytest.approx(0.6)
    assert rank_correlation([(1, 5), (2, 5)]) is None
    assert rank_correlation([]) is None
