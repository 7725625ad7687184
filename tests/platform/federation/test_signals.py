"""What a client says of its round: what an honest one computes, and what no one is believed."""

from dataclasses import replace
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turncoat.platform.federation.signals import Signal, admit, signal_of

HONEST = Signal(client=2, round=7, n=64, mu=0.25, sigma=0.3, nnz=100, silent=0.125, accuracy=0.5)


def reason(signal: object, consistency: bool = True, lowest: float = 0.0) -> str | None:
    believed, refused = admit({2: signal}, 7, {2: 64}, 1000, consistency, lowest)
    assert len(believed) + len(refused) == 1
    return refused.get(2)


def test_right_or_wrong_throughout_is_no_signal() -> None:
    """Prompts that are always or never solved teach nothing; the pooled σ takes them for the best data."""
    groups = [[1.0] * 8] * 4 + [[0.0] * 8] * 4
    assert signal_of(0, 1, groups, 5) == Signal(0, 1, 64, 0.5, 0.0, 5, 1.0)
    assert signal_of(0, 1, groups, 5, "pooled").sigma == 0.5


def test_sigma_is_the_mean_population_std_of_groups() -> None:
    """Weights would follow the size of the groups if it were the sample's."""
    signal = signal_of(0, 1, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], 5)
    assert (signal.sigma, signal.mu, signal.n) == (pytest.approx(0.5 / 3), 0.5, 6)
    assert signal.silent == pytest.approx(2 / 3)


def test_equal_rewards_have_exactly_no_spread() -> None:
    """A σ of 1e-17 in all clients would be scaled up to full weights, for a step on noise."""
    for std in ("group", "pooled"):
        assert signal_of(0, 1, [[0.1] * 3] * 7, 5, std).sigma == 0.0


def test_no_rewards_are_no_signal() -> None:
    """A client of which everything was dropped must not divide by zero; the server refuses it as owing."""
    signal = signal_of(2, 7, [[], []], 0)
    assert (signal.n, signal.sigma) == (0, 0.0)
    assert reason(signal) == "n"


@example([[0.0, 1.0], [0.0] * 30])
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), max_size=9), min_size=1, max_size=20))
def test_every_honest_signal_is_believed(groups: list[list[float]]) -> None:
    """Groups of several sizes, since defences drop completions, must not make an honest client a liar."""
    for std in ("group", "pooled"):
        signal = signal_of(2, 7, groups, 5, std)
        if signal.n:
            assert admit({2: signal}, 7, {2: signal.n}, 1000) == ([signal], {})
            short = replace(signal, mu=float(np.float32(signal.mu)), sigma=float(np.float32(signal.sigma)))
            assert admit({2: short}, 7, {2: signal.n}, 1000) == ([short], {})


@pytest.mark.parametrize(
    ("lie", "named"),
    [
        ({"sigma": nan}, "not_finite"),
        ({"mu": inf}, "not_finite"),
        ({"accuracy": nan}, "not_finite"),
        ({"silent": -inf}, "not_finite"),
        ({"sigma": -1e-9}, "negative"),
        ({"n": 65}, "n"),
        ({"n": 0}, "n"),
        ({"n": -1}, "n"),
        ({"n": 10**400}, "n"),
        ({"nnz": 1001}, "nnz"),
        ({"nnz": -1}, "nnz"),
        ({"silent": 1.1}, "range"),
        ({"accuracy": -0.1}, "range"),
        ({"mu": 1.5}, "range"),
        ({"mu": -0.5}, "range"),
        ({"mu": 1e308}, "range"),
        ({"client": 1}, "foreign"),
        ({"round": 6}, "foreign"),
        ({"n": True}, "type"),
        ({"n": 64.0}, "type"),
        ({"sigma": "0.3"}, "type"),
        ({"sigma": np.float64(0.3)}, "type"),
        ({"mu": np.zeros(3)}, "type"),
        ({"accuracy": 1}, "type"),
    ],
)
@pytest.mark.parametrize("consistency", [True, False])
def test_hostile_signals_are_refused_by_name(lie: dict, named: str, consistency: bool) -> None:
    """One NaN among the weights makes NaN of the policy, for every client."""
    assert reason(HONEST, consistency) is None
    assert reason(replace(HONEST, **lie), consistency) == named


@pytest.mark.parametrize(
    "lie",
    [
        {"sigma": 0.51, "mu": 0.5},
        {"sigma": 0.5},
        {"sigma": sqrt(0.25 * 0.75) + 1e-3},
        {"sigma": 0.01, "mu": 0.0},
        {"sigma": 1e200},
    ],
)
def test_what_rewards_cannot_be_is_refused(lie: dict) -> None:
    """A σ of 0.5 beside μ = 0.25 is bought weight; one of 1e200 is all the weight there is."""
    assert reason(replace(HONEST, **lie)) == "inconsistent"
    assert reason(replace(HONEST, **lie), consistency=False) is None


@given(st.lists(st.lists(st.floats(-1, 1), max_size=9), min_size=1, max_size=20))
def test_rewards_below_zero_have_bounds_of_their_own(groups: list[list[float]]) -> None:
    """A punishment for length is no reason to believe every σ, nor to refuse an honest one."""
    for std in ("group", "pooled"):
        signal = signal_of(2, 7, groups, 5, std)
        if signal.n:
            assert admit({2: signal}, 7, {2: signal.n}, 1000, lowest=-1.0) == ([signal], {})
    assert reason(replace(HONEST, mu=0.0, sigma=1.01), lowest=-1.0) == "inconsistent"
    assert reason(replace(HONEST, mu=-1.01), lowest=-1.0) == "range"


def test_largest_possible_sigma_is_believed() -> None:
    """All groups of one mean attain the bound; refusing them would refuse the most useful client."""
    assert reason(replace(HONEST, sigma=sqrt(0.25 * 0.75))) is None
    assert reason(replace(HONEST, mu=0.5, sigma=0.5, silent=0.0)) is None


def test_anything_may_come() -> None:
    """A client sends what it likes; the others' round goes on, in the order of clients."""
    sent = {5: replace(HONEST, client=5), 3: None, 1: [1, 2], 2: HONEST, 9: replace(HONEST, client=9)}
    believed, refused = admit(sent, 7, {2: 64, 5: 64}, 1000)
    assert [signal.client for signal in believed] == [2, 5]
    assert refused == {1: "type", 3: "type", 9: "n"}
