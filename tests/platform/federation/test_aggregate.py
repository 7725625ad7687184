"""One server step, from signals and payloads to new weights."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from turncoat.platform.federation.aggregate import Aggregated, aggregate
from turncoat.platform.federation.server_optimiser import server_optimiser
from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import AGGREGATORS, ROBUST

N = 1000
RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.standard_normal(N).astype(np.float32)
SIGNALS = [Signal(k, 1, 10 + k, 0.5, 0.1 * (k + 1), 9, 0.0) for k in range(4)]
DENSE = (RANDOM.standard_normal((4, N)) * (RANDOM.random((4, N)) < 0.1)).astype(np.float32)
EVERY = np.arange(N)


def sparse(vector: np.ndarray) -> Sparse:
    at = np.flatnonzero(vector)
    return Sparse(len(vector), at, vector[at])


def full(vector: np.ndarray) -> Sparse:
    return Sparse(len(vector), EVERY, vector)


def stepped(
    fetch: Callable[[int], Sparse],
    signals: list[Signal] = SIGNALS,
    weights: Any = "signal_weighted",
    rules: Any = (),
    optimiser: Any = ("sgd",),
    **more: Any,
) -> tuple[np.ndarray, Aggregated]:
    after = WEIGHTS.copy()
    built = [ROBUST.build(ROBUST.parse(rule)) for rule in rules]
    aggregator = AGGREGATORS.build(AGGREGATORS.parse(weights))
    result = aggregate(after, signals, fetch, aggregator, built, server_optimiser(*optimiser), **more)
    return after, result


def test_everything_sent_is_the_dense_weighted_sum() -> None:
    """B = 1 is lossless to the bit: a sum that depends on the encoding is not."""
    after, result = stepped(lambda k: sparse(DENSE[k]))
    total = np.zeros(N, np.float32)
    for k in range(4):
        total += np.float32(result.weights[k]) * DENSE[k]
    assert np.array_equal(after, WEIGHTS + total)
    assert np.array_equal(after, stepped(lambda k: full(DENSE[k]))[0])
    assert [result.weights[k] for k in range(4)] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert result.norms == pytest.approx(dict(enumerate(np.linalg.norm(DENSE, axis=1))))
    assert result.step == pytest.approx(np.linalg.norm(total))


def test_order_of_arrival_does_not_matter() -> None:
    """Float sums do not commute: the order is that of clients."""
    signals = SIGNALS[::-1]
    assert np.array_equal(
        stepped(lambda k: sparse(DENSE[k]), signals)[0], stepped(lambda k: sparse(DENSE[k]))[0]
    )


@pytest.mark.parametrize("optimiser", [("sgd",), ("nesterov", 0.7), ("adam", 0.1)])
def test_no_signal_leaves_every_bit(optimiser: tuple) -> None:
    """Where no one has anything to teach, neither noise nor momentum moves the policy."""
    silent = [replace(signal, sigma=0.0) for signal in SIGNALS]
    after, result = stepped(lambda k: pytest.fail("nobody is asked"), silent, optimiser=optimiser)
    assert np.array_equal(after, WEIGHTS)
    assert not result.moved
    assert result.weights == dict.fromkeys(range(4), 0.0)
    assert result.notes == ("no client has any weight: the policy stays as it is",)
    assert not stepped(lambda k: sparse(DENSE[k]), [])[1].moved


def test_clients_without_weight_are_not_asked() -> None:
    """Their payloads cost time and can be broken; weight 0 means 0, also of a payload full of 1e38."""
    signals = [replace(SIGNALS[0], sigma=0.0), *SIGNALS[1:]]
    fetch = {k: sparse(DENSE[k]) for k in (1, 2, 3)}
    after, result = stepped(fetch.__getitem__, signals)
    assert np.array_equal(after, stepped(fetch.__getitem__, SIGNALS[1:])[0])
    assert result.weights[0] == 0.0
    for rule in ("multi_krum", "coordinate_median", "geometric_median", "norm_clip"):
        assert stepped(fetch.__getitem__, signals, rules=[rule])[1].moved


def test_one_client_with_new_weights_is_adopted_to_the_bit() -> None:
    """θ + (θ_k − θ) is not θ_k in float32: federation of one would drift from central training."""
    trained = (WEIGHTS + 1e-3 * RANDOM.standard_normal(N)).astype(np.float32)
    trained[:5] = 1e-20, -0.0, 3e38, 1.0, 2e-45
    assert not np.array_equal(WEIGHTS + (trained - WEIGHTS), trained)

    def fetch(k: int) -> Sparse:
        return Sparse(N, EVERY, trained, absolute=True)

    after, result = stepped(fetch, SIGNALS[:1])
    assert after.tobytes() == trained.tobytes()
    assert (result.coefficients, result.moved) == ({0: 1.0}, True)
    selected, _ = stepped(fetch, rules=["krum"])
    assert selected.tobytes() == trained.tobytes(), "also where a rule left one"
    half, _ = stepped(fetch, SIGNALS[:1], optimiser=("sgd", 0.5))
    assert np.array_equal(half, WEIGHTS + np.float32(0.5) * (trained - WEIGHTS))


def test_new_weights_of_several_are_differences() -> None:
    """A weighted sum of weights whose float32 weights do not sum to 1 would shrink the policy every round."""
    news = (WEIGHTS + DENSE).astype(np.float32)
    after, _ = stepped(lambda k: Sparse(N, EVERY, news[k], absolute=True))
    assert np.array_equal(after, stepped(lambda k: full(news[k] - WEIGHTS))[0])


def test_a_payload_that_fails_changes_nothing() -> None:
    """Half a sum in the policy, when the third of four payloads is broken, could not be taken back."""
    after = WEIGHTS.copy()

    def fetch(k: int) -> Sparse:
        if k == 2:
            raise ValueError("checksum")
        return sparse(DENSE[k])

    optimiser = server_optimiser("nesterov", 0.7)
    for rules in ([], ["coordinate_median"], ["krum"]):
        built = [ROBUST.build(ROBUST.parse(rule)) for rule in rules]
        with pytest.raises(ValueError, match="checksum"):
            aggregate(
                after, SIGNALS, fetch, AGGREGATORS.build(AGGREGATORS.parse("uniform")), built, optimiser
            )
    assert np.array_equal(after, WEIGHTS)
    assert optimiser.state() == {}


def test_rules_act_in_order() -> None:
    """Clip, then select, then weigh: the liar's length is cut before distances are taken."""
    honest = DENSE[0] + 0.1 * np.random.default_rng(5).standard_normal((5, N)).astype(np.float32)
    honest[4] *= -50
    signals = [Signal(k, 1, 8, 0.5, 0.2, 9, 0.0) for k in range(5)]
    _, result = stepped(
        lambda k: full(honest[k]), signals, rules=["norm_clip", "multi_krum", "geometric_median"]
    )
    assert result.weights[4] == pytest.approx(0.2)
    assert result.coefficients[4] == 0.0
    assert 0.5 < sum(result.coefficients.values()) <= 1
    assert result.norms == pytest.approx(dict(enumerate(np.linalg.norm(honest, axis=1))), rel=1e-6)
    after, capped = stepped(
        lambda k: full(honest[k]),
        [*signals[:4], replace(signals[4], sigma=0.5)],
        {"kind": "signal_weighted", "w_max": 0.26},
        ["multi_krum"],
    )
    assert capped.coefficients == pytest.approx({**dict.fromkeys(range(4), 0.25), 4: 0.0})
    assert np.isfinite(after).all()


def test_no_trust_leaves_every_bit() -> None:
    """FLTrust's all-zero case is a round without a step."""
    root = sparse(-DENSE[0])
    after, result = stepped(lambda k: sparse(DENSE[0]), rules=["fltrust"], root=root, optimiser=("nesterov",))
    assert np.array_equal(after, WEIGHTS)
    assert not result.moved
    assert stepped(lambda k: sparse(DENSE[0]), rules=["fltrust"], root=sparse(DENSE[0]))[1].moved


@pytest.mark.parametrize("size", [1.4e-45, 1e-30])
def test_an_update_of_next_to_nothing_is_not_stretched(size: float) -> None:
    """FLTrust gives every update the root's length: of a denormal number that made an infinite policy."""
    root = DENSE[0]
    at = int(np.argmax(np.abs(root)))
    speck = np.zeros(N, np.float32)
    speck[at] = np.copysign(np.float32(size), root[at])
    sent = {**{k: sparse(root + DENSE[k]) for k in range(3)}, 3: sparse(speck)}
    after, result = stepped(sent.__getitem__, rules=["fltrust"], root=sparse(root))
    assert np.isfinite(after).all()
    assert result.coefficients[3] == 0.0
    assert all(result.coefficients[k] > 0 for k in range(3))


def test_the_servers_own_update_is_a_difference_too() -> None:
    """Where everyone sends new weights, the cosine to the policy itself would trust whoever changes least."""
    news = (WEIGHTS + DENSE).astype(np.float32)
    root = (WEIGHTS + DENSE[0] + 0.1 * DENSE[1]).astype(np.float32)
    _, sent = stepped(
        lambda k: Sparse(N, EVERY, news[k], absolute=True),
        rules=["fltrust"],
        root=Sparse(N, EVERY, root, absolute=True),
    )
    _, same = stepped(lambda k: full(news[k] - WEIGHTS), rules=["fltrust"], root=full(root - WEIGHTS))
    assert sent == same


@pytest.mark.parametrize("kind", ["coordinate_median", "trimmed_mean"])
def test_the_freeze_is_warned_of(kind: str) -> None:
    """Updates of 3 % density hardly overlap: training stands still, and every other figure looks healthy."""
    random = np.random.default_rng(0)
    signals = [Signal(k, 1, 8, 0.5, 0.2, 9, 0.0) for k in range(5)]
    dense = random.standard_normal((5, N)).astype(np.float32)
    thin = np.where(random.random((5, N)) < 0.03, dense, 0).astype(np.float32)
    _, frozen = stepped(lambda k: sparse(thin[k]), signals, rules=[kind])
    assert frozen.frozen is not None
    assert frozen.frozen > 0.9
    assert len(frozen.notes) == 1
    assert "freeze training" in frozen.notes[0]
    _, alive = stepped(lambda k: sparse(dense[k]), signals, rules=[kind])
    assert (alive.frozen, alive.notes) == (0.0, ())


def test_memory_does_not_grow_with_clients() -> None:
    """The issue's own bound: thirty-two clients in the memory of one model, with and without robust rules."""
    length = 2_000_000
    support = [np.unique(np.random.default_rng(k).integers(length, size=length // 33)) for k in range(32)]

    def fetch(k: int) -> Sparse:
        return Sparse(length, support[k].copy(), np.full(len(support[k]), 1e-3 * (k + 1), np.float32))

    def peak(clients: int, *kinds: str) -> float:
        rules = [ROBUST.build(ROBUST.parse(kind)) for kind in kinds]
        signals = [Signal(k, 1, 8, 0.5, 0.2, 9, 0.0) for k in range(clients)]
        weights = np.zeros(length, np.float32)
        aggregator = AGGREGATORS.build(AGGREGATORS.parse("uniform"))
        tracemalloc.start()
        aggregate(weights, signals, fetch, aggregator, rules, server_optimiser("sgd"))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / (4 * length)

    assert peak(32) < 1.5, "one sum beside the policy"
    assert peak(32) < peak(2) * 1.1
    # One dense vector, and at most N entries of 12 bytes; of coordinates, also what a block of them takes.
    assert peak(32, "norm_clip", "multi_krum") < 5
    assert peak(32, "coordinate_median") < 8
