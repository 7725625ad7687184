"""How much each client's update counts."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator
from turncoat.platform.registry import AGGREGATORS

KINDS = list(AGGREGATORS.builtin)
CLIENTS = st.lists(
    st.tuples(st.integers(1, 512), st.floats(0, 1), st.one_of(st.just(0.0), st.floats(0, 0.5))),
    min_size=1,
    max_size=12,
)


def made(kind: str, **settings: object) -> Aggregator:
    return AGGREGATORS.build(AGGREGATORS.parse({"kind": kind, **settings}))


def signals(*sigma: float, n: int | None = None) -> list[Signal]:
    return [Signal(k, 1, n or 10 * (k + 1), 0.5, one, 9, 0.0) for k, one in enumerate(sigma)]


@pytest.mark.parametrize("kind", KINDS)
@given(clients=CLIENTS, w_max=st.one_of(st.none(), st.floats(0.05, 1)))
def test_weights_sum_to_one_or_are_none(kind: str, clients: list, w_max: float | None) -> None:
    """Anything else scales the step, or divides by zero, whatever the signals."""
    given_ = [Signal(k, 1, n, mu, sigma, 9, 0.0) for k, (n, mu, sigma) in enumerate(clients)]
    aggregator = made(kind, w_max=w_max)
    aggregator.observe(given_)
    weights = aggregator.weigh(given_)
    assert weights.dtype == np.float64
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1) or not weights.any()
    if w_max is not None and weights.any():
        assert weights.max() <= max(w_max, 1 / (weights > 0).sum()) + 1e-12


def test_equal_signals_are_uniform() -> None:
    """Also where clients have unequal samples: that is what tells SWA from FedAvg by samples."""
    weights = made("signal_weighted").weigh(signals(0.3, 0.3, 0.3))
    assert np.array_equal(weights, made("uniform").weigh(signals(0.1, 0.2, 0.3)))
    by_samples = made("by_samples").weigh(signals(0.3, 0.3, 0.3))
    assert by_samples == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert made("signal_weighted", times_n=True).weigh(signals(0.3, 0.3, 0.3)) == pytest.approx(by_samples)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 3.0])
def test_no_signal_has_weight_exactly_zero(gamma: float) -> None:
    """0 to the power 0 is 1: a client with nothing to teach would count in full."""
    weights = made("signal_weighted", gamma=gamma).weigh(signals(0.2, 0.0, 0.4))
    assert weights[1] == 0.0
    assert weights.sum() == pytest.approx(1)
    assert weights[2] / weights[0] == pytest.approx(2**gamma)


@pytest.mark.parametrize("options", [{}, {"times_n": True}, {"w_max": 0.4}, {"gamma": 0.0}])
def test_all_silent_have_no_weights(options: dict) -> None:
    """The policy then stays as it is; a share of 0/0 would make NaN of it."""
    assert made("signal_weighted", **options).weigh(signals(0.0, 0.0)).tolist() == [0.0, 0.0]
    assert made("signal_weighted", **options).weigh([]).tolist() == []


@given(st.lists(st.floats(0.001, 0.5), min_size=2, max_size=8), st.integers(-900, 3))
def test_weights_do_not_know_the_scale_of_rewards(sigma: list[float], power: int) -> None:
    """Rewards of 0 and 10, or a nearly solved task, give the same weights, to the bit for powers of two."""
    for gamma in (1.0, 2.0):
        aggregator = made("signal_weighted", gamma=gamma)
        scaled = aggregator.weigh(signals(*(one * 2.0**power for one in sigma)))
        assert np.array_equal(scaled, aggregator.weigh(signals(*sigma)))


def test_cap_hands_the_excess_to_the_others() -> None:
    """In proportion to theirs, and again where that puts another above the cap; never to a silent client."""
    shares = signals(0.5, 0.2, 0.2, 0.1, 0.0)
    assert made("signal_weighted", w_max=0.4).weigh(shares) == pytest.approx([0.4, 0.24, 0.24, 0.12, 0])
    assert made("signal_weighted", w_max=0.3).weigh(shares) == pytest.approx([0.3, 0.28, 0.28, 0.14, 0])
    assert made("signal_weighted", w_max=0.26).weigh(shares) == pytest.approx([0.26, 0.26, 0.26, 0.22, 0])
    assert made("signal_weighted", w_max=0.1).weigh(shares) == pytest.approx([0.25] * 4 + [0])


def test_a_liar_buys_weight_up_to_the_cap() -> None:
    """The attack that the cap is for: 0.5 beside honest 0.1 takes more than half of the say."""
    lied = signals(0.1, 0.1, 0.1, 0.1, 0.5)
    assert made("signal_weighted").weigh(lied)[4] == pytest.approx(5 / 9)
    assert made("signal_weighted", w_max=0.3).weigh(lied)[4] == pytest.approx(0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_who_drops_out_leaves_its_weight_to_the_rest(kind: str) -> None:
    """In proportion: a straggler must not shrink the step, nor shift the others among themselves."""
    aggregator, everyone = made(kind), signals(0.1, 0.2, 0.3, 0.4)
    aggregator.observe(everyone)
    rest = [everyone[0], everyone[2], everyone[3]]
    before, after = aggregator.weigh(everyone)[[0, 2, 3]], aggregator.weigh(rest)
    assert after == pytest.approx(before / before.sum())


def test_order_of_arrival_is_refused() -> None:
    """Sums in the order of arrival differ in the last bit, and with them the run's hash."""
    with pytest.raises(ValueError, match="ascending"):
        made("uniform").weigh(signals(0.1, 0.2)[::-1])
    with pytest.raises(ValueError, match="ascending"):
        made("uniform").weigh([signals(0.1)[0]] * 2)


def test_relative_gain_by_hand() -> None:
    """b follows μ by a; g is the gain over b; w is n · exp(g / τ)."""
    aggregator = made("relative_gain", rate=0.5, temperature=2.0)
    first = signals(0.1, 0.1, n=8)
    aggregator.observe(first)
    assert aggregator.weigh(first).tolist() == [0.5, 0.5]
    second = [replace(first[0], mu=0.7), replace(first[1], mu=0.3)]
    aggregator.observe(second)
    gain = np.array([(0.7 - 0.6) / 0.6, (0.3 - 0.4) / 0.4])
    expected = np.exp(gain / 2) / np.exp(gain / 2).sum()
    assert aggregator.weigh(second) == pytest.approx(expected, rel=1e-5)
    assert np.array_equal(aggregator.weigh(second), aggregator.weigh(second)), "asking changes nothing"


def test_relative_gain_resumes() -> None:
    """A server that forgot its baselines would go on with other weights."""
    aggregator, other = made("relative_gain"), made("relative_gain")
    aggregator.observe(signals(0.1, 0.2, 0.3))
    other.load(json.loads(json.dumps(aggregator.state())))
    late = [replace(signal, mu=0.3 * signal.client) for signal in signals(0.1, 0.2, 0.3, 0.4)]
    for one in (aggregator, other):
        one.observe(late)
    assert np.array_equal(aggregator.weigh(late), other.weigh(late))


def test_relative_gain_survives_a_baseline_of_zero() -> None:
    """From nothing to something is an infinite gain; its exponential overflows."""
    aggregator = made("relative_gain", rate=0.001, temperature=0.01)
    first = [replace(signal, mu=0.0) for signal in signals(0.1, 0.1)]
    aggregator.observe(first)
    second = [replace(first[0], mu=1.0), first[1]]
    aggregator.observe(second)
    assert aggregator.weigh(second) == pytest.approx([1.0, 0.0])


def test_task_accuracy_by_hand() -> None:
    """Within a task by right answers, between tasks by their priors; an absent task counts nothing."""
    aggregator = made("task_accuracy", tasks=["sums", "sums", "code"], priors={"code": 3.0})
    heard = [replace(signal, accuracy=0.5) for signal in signals(0.1, 0.1, 0.1)]
    assert aggregator.weigh(heard) == pytest.approx([1 / 12, 2 / 12, 9 / 12])
    assert aggregator.weigh(heard[:2]) == pytest.approx([1 / 3, 2 / 3])
    unheard = [replace(heard[0], accuracy=None, mu=0.25), heard[1]]
    assert aggregator.weigh(unheard) == pytest.approx([1 / 5, 4 / 5])


def test_any_prior_that_a_recipe_may_name_gives_weights() -> None:
    """Times the completions, the largest overflows: not a number, and the policy stands still in silence."""
    aggregator = made("task_accuracy", tasks=["sums", "code"], priors={"sums": 1e308, "code": 1e308})
    assert aggregator.weigh(signals(0.1, 0.1)) == pytest.approx([0.5, 0.5])
