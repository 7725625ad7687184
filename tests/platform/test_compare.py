"""If these fail, two runs are said to differ, or not to, by an interval that does not hold."""

from typing import Any

import pytest
from scipy.stats import ttest_ind

from turncoat.platform.compare import Entry, Estimate, changed, difference, square_and_add, welch
from turncoat.platform.statistics import mean_interval, wilson


def entry(name: str, *runs: dict[str, Any]) -> Entry:
    """runs: seed, success, accuracy of each; 100 held-out completions, 200 honest ones in training."""
    summaries, metrics, configs = [], [], []
    for run in runs:
        victim = {"clean_accuracy": run["accuracy"], "length_mean": 20.0}
        summaries.append(
            {
                "seed": run["seed"],
                "attack": {"kind": "text", "success_rate": run.get("success")},
                "victim": victim,
                "defence": {"stop_rate": None, "false_positive_rate": 0.01, "cost_share": 0.02},
            }
        )
        evaluation = {"kind": "evaluation", "round": 2, "peer": "peer-00", "n": 100, "success_n": 80}
        learnt = {"kind": "round", "round": 1, "peer": "peer-00", "n_honest": 200, "accepted_honest": 198}
        metrics.append([{**evaluation, "length_interval": [19.0, 21.5]}, learnt])
        configs.append({"name": name, "seed": run["seed"], "defences": [], **run.get("config", {})})
    return Entry(name, summaries, metrics, configs)


def test_newcombes_own_example() -> None:
    """56 of 70 against 48 of 80: his table gives 0.0524 to 0.3339 for method 10."""
    one, other = (Estimate(k / n, wilson(k, n)) for k, n in ((56, 70), (48, 80)))
    assert square_and_add(one, other) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_two_runs_differ_by_newcombes_interval() -> None:
    """Each figure with the number of completions that it is a share of."""
    one = entry("one", {"seed": 0, "success": 0.5, "accuracy": 0.6})
    other = entry("other", {"seed": 0, "success": 0.1, "accuracy": 0.7})
    for figure, a, b, n in (
        ("attack success", 0.5, 0.1, 80),
        ("accuracy", 0.6, 0.7, 100),
        ("false positives", 0.01, 0.01, 200),
    ):
        found = difference(figure, one, other)
        assert found
        sides = [Estimate(p, wilson(round(p * n), n)) for p in (a, b)]
        assert (found.value, found.method) == (pytest.approx(a - b), "Newcombe")
        assert found.interval == pytest.approx(square_and_add(*sides))
    assert difference("stop rate", one, other) is None
    length, cost = difference("length", one, other), difference("cost", one, other)
    assert length
    assert length.interval == pytest.approx((-((1 + 1.5**2) ** 0.5), (1.5**2 + 1) ** 0.5))
    assert cost == Estimate(0.0), "no interval: it is no share of completions"


def test_arms_of_the_same_seeds_are_paired() -> None:
    """A seed that is lucky in both arms is no difference."""
    one = entry("one", *({"seed": s, "accuracy": 0.5 + s / 10} for s in range(3)))
    other = entry("other", *({"seed": s, "accuracy": 0.4 + s / 10 + s / 100} for s in range(3)))
    found = difference("accuracy", one, other)
    assert found
    assert found.method == "t, paired by seed"
    assert found.interval == pytest.approx(mean_interval([0.1, 0.09, 0.08]))


def test_arms_of_other_seeds_are_not() -> None:
    values = [0.5, 0.6, 0.8], [0.4, 0.45]
    one, other = (
        entry("x", *({"seed": start + i, "accuracy": value} for i, value in enumerate(side)))
        for start, side in zip((0, 7), values, strict=True)
    )
    found = difference("accuracy", one, other)
    assert found
    assert found.method == "Welch"
    expected = ttest_ind(*values, equal_var=False).confidence_interval()
    assert found.interval == pytest.approx((expected.low, expected.high))
    assert welch([1, 1], [3, 3, 3]) == (-2, -2)


def test_a_run_against_an_arm_has_no_interval() -> None:
    """One run says nothing about the spread between seeds."""
    one = entry("one", {"seed": 0, "accuracy": 0.5})
    arm = entry("arm", {"seed": 0, "accuracy": 0.4}, {"seed": 1, "accuracy": 0.5})
    assert difference("accuracy", one, arm) == Estimate(pytest.approx(0.05))


def test_the_settings_that_differ_are_named() -> None:
    """By dotted key; where and under which name a run was computed is none of them, nor the seeds of arms."""
    base = {"seed": 0, "accuracy": 0.5}
    one = entry(
        "one", {**base, "config": {"defences": [{"kind": "support", "k": 4}], "hardware": {"split": 1}}}
    )
    other = entry("other", {**base, "seed": 1})
    assert changed(one, other) == {
        "defences": ([], None),
        "defences.0.k": (None, 4),
        "defences.0.kind": (None, "support"),
        "seed": (1, 0),
    }
    assert "seed" not in changed(entry("arm", base, {**base, "seed": 1}), other)
