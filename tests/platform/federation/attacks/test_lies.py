"""Attacks on the numbers: what each sends, and what it may know."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from turncoat.platform.federation.attacks.base import Lie
from turncoat.platform.federation.codec.header import Expected
from turncoat.platform.federation.codec.wire import decode, encode
from turncoat.platform.federation.signals import Signal, admit
from turncoat.platform.registry import COMPRESSORS, FEDERATED_ATTACKS

N = 500
RANDOM = np.random.default_rng(1)
HONEST = Signal(4, 3, 64, 0.2, 0.1, 50, 0.5, accuracy=0.3)
ROUNDS = [(1e-3 * RANDOM.standard_normal(N)).astype(np.float32) for _ in range(4)]
DELTA = ROUNDS[0]


def made(kind: str, **settings: object) -> Lie:
    return FEDERATED_ATTACKS.build(FEDERATED_ATTACKS.parse({"kind": kind, **settings}))


def believed(signal: Signal) -> bool:
    return not admit({4: signal}, 3, {4: 64}, N)[1]


@pytest.mark.parametrize("kind", list(FEDERATED_ATTACKS.builtin))
def test_lies_leave_what_they_were_given(kind: str) -> None:
    """The honest update is the journal's truth, and the client's own next state; before onset it is sent."""
    lie, delta = made(kind, onset_round=3), DELTA.copy()
    lie.observe(ROUNDS[1])
    early = lie.corrupt(HONEST, delta, 2, seed=5)
    assert early[0] == HONEST
    assert np.array_equal(early[1], DELTA)
    signal, sent = lie.corrupt(HONEST, delta, 3, seed=5)
    assert np.array_equal(delta, DELTA)
    assert (sent.dtype, sent.shape) == (np.float32, (N,))
    assert (signal.client, signal.round, signal.n, signal.nnz) == (4, 3, 64, 50)
    assert np.isfinite(sent).all()


@pytest.mark.parametrize("kind", list(FEDERATED_ATTACKS.builtin))
def test_lies_resume(kind: str) -> None:
    """A restarted liar that has forgotten gives another run."""
    one, two = made(kind), made(kind)
    for delta in ROUNDS[:2]:
        one.observe(ROUNDS[3])
        one.corrupt(HONEST, delta, 1, seed=5)
    two.load(one.state())
    held = one.state()
    first, again = (lie.corrupt(HONEST, ROUNDS[2], 3, seed=9) for lie in (one, two))
    assert first[0] == again[0]
    assert np.array_equal(first[1], again[1])
    one.load(held)
    undone = one.corrupt(HONEST, ROUNDS[2], 3, seed=9)
    assert np.array_equal(first[1], undone[1]), "a round that was not counted is forgotten"


@pytest.mark.parametrize(
    ("claim", "sigma", "passes"), [("largest", 0.5, False), ("consistent", 0.4, True), ("forged", 0.5, True)]
)
def test_inflated_signals(claim: str, sigma: float, passes: bool) -> None:
    """What the consistency check can stop, and what it cannot: the write-up rests on these three."""
    signal, sent = made("signal_inflation", claim=claim).corrupt(HONEST, DELTA, 3, 0)
    assert signal.sigma == pytest.approx(sigma)
    assert believed(signal) == passes
    assert np.array_equal(sent, DELTA)
    flipped = made("signal_inflation", claim=claim, factor=-2.0).corrupt(HONEST, DELTA, 3, 0)[1]
    assert np.array_equal(flipped, -2 * DELTA)


def test_flipped_and_scaled_updates() -> None:
    """Their signal stays honest: they are about the update alone."""
    assert np.array_equal(made("sign_flip").corrupt(HONEST, DELTA, 3, 0)[1], -DELTA)
    assert np.array_equal(made("sign_flip", factor=3.0).corrupt(HONEST, DELTA, 3, 0)[1], -3 * DELTA)
    signal, sent = made("scaled_update", factor=8.0).corrupt(HONEST, DELTA, 3, 0)
    assert np.array_equal(sent, 8 * DELTA)
    assert signal == HONEST
    longest = made("scaled_update", factor=1e38).corrupt(HONEST, 1e6 * DELTA, 3, 0)[1]
    assert np.isfinite(longest).all(), "an infinite update is refused on arrival, a long one is not"


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("sign_flip", "factor"),
        ("scaled_update", "factor"),
        ("signal_inflation", "factor"),
        ("little_is_enough", "z"),
    ],
)
@pytest.mark.parametrize("compression", ["natural", "top_k", "dense"])
def test_no_lie_is_too_long_to_be_sent(kind: str, setting: str, compression: str) -> None:
    """It is the server that refuses it: an error in the liar's own process would end everyone's run."""
    lie, base = made(kind, **{setting: 1e39}), np.ones(N, np.float32)
    lie.corrupt(HONEST, DELTA, 1, 0)
    sent = lie.corrupt(HONEST, np.where(np.arange(N) < 9, 0, ROUNDS[1]), 2, 0)[1]
    compressor = COMPRESSORS.build(COMPRESSORS.parse(compression))
    payload = encode(compressor.compress((base + sent).astype(np.float32), base), bytes(32))
    assert np.abs(decode(payload, Expected(N, N, bytes(32)), base).values).max() > 1e12


def test_a_little_is_z_of_its_own_spread() -> None:
    """Without the oracle it must not know more than its client: its own honest rounds."""
    lie = made("little_is_enough", z=1.5, onset_round=3)
    assert not lie.oracle
    for round, delta in enumerate(ROUNDS, start=1):
        sent = lie.corrupt(HONEST, delta, round, 0)[1]
    own = np.stack(ROUNDS).astype(np.float64)
    assert sent == pytest.approx(own[-1] - 1.5 * own.std(axis=0), abs=1e-8)
    first = made("little_is_enough").corrupt(HONEST, DELTA, 1, 0)[1]
    assert np.array_equal(first, DELTA), "one round has no spread"


def test_an_oracle_sees_the_honest_updates() -> None:
    """The upper bound of the attack, which a table must name as such."""
    lie = made("little_is_enough", oracle=True)
    assert lie.oracle
    sent = lie.corrupt(HONEST, DELTA, 3, 0, others=ROUNDS[1:])[1]
    own = np.stack(ROUNDS).astype(np.float64)
    assert sent == pytest.approx(own.mean(axis=0) - own.std(axis=0), abs=1e-8)


def test_a_free_rider_uses_nothing_of_its_client() -> None:
    """Else it has trained: neither rewards nor update of the honest round may show."""
    for sends in ("zero", "noise", "replay"):
        lie = made("free_rider", sends=sends)
        assert not lie.corrupt(HONEST, DELTA, 1, 0)[1].any()
        moved = np.where(np.arange(N) < 100, ROUNDS[1], 0).astype(np.float32)
        lie.observe(moved)
        signal, sent = lie.corrupt(HONEST, DELTA, 2, seed=7)
        other = lie.corrupt(replace(HONEST, mu=0.9, sigma=0.2, accuracy=0.1), ROUNDS[2], 2, seed=7)
        assert np.array_equal(sent, other[1])
        assert signal == other[0]
        assert believed(replace(signal, round=3))
        assert not sent[100:].any()
        if sends == "replay":
            assert np.array_equal(sent, moved)
        if sends == "noise":
            assert np.linalg.norm(sent) == pytest.approx(np.linalg.norm(moved), rel=0.3)
            assert not np.array_equal(sent, lie.corrupt(HONEST, DELTA, 2, seed=8)[1])


def test_a_free_rider_claims_what_can_be_believed() -> None:
    """A config whose liar is refused in every round tests nothing."""
    with pytest.raises(ValidationError, match=r"sigma is 0\.5 beside mu 0\.1"):
        made("free_rider", mu=0.1, sigma=0.5)
