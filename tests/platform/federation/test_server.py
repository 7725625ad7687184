"""The server by itself: what it believes, grants, takes and hands out."""

import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.platform.federation.codec.wire import encode
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.dense import in_bf16
from turncoat.platform.federation.server import Closing, Server, patched
from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.federation.vectors import version_of

N = 5000
RANDOM = np.random.default_rng(7)
START = RANDOM.standard_normal(N).astype(np.float32)
DELTAS = [(RANDOM.standard_normal(N) * (RANDOM.random(N) < 0.1)).astype(np.float32) for _ in range(4)]
PEERS = "clients.count=4"
PLAIN = "compression={kind: top_k, share: 1.0, values: fp32}"


def signal(client: int, round: int = 1, sigma: float = 0.25, nnz: int = N, mu: float = 0.5) -> Signal:
    return Signal(client, round, 32, mu, sigma, nnz, 0.0)


def payload(server: Server, delta: np.ndarray) -> bytes:
    at = np.flatnonzero(delta)
    return encode(Sparse(len(delta), at, delta[at]), bytes.fromhex(server.version))


def closed(
    server: Server, signals: Mapping[int, Any], forged: Mapping[int, Any] | None = None, round: int = 1
) -> Closing:
    """One round of what these clients claim and send."""
    server.open()
    grants = server.grant(round, signals)
    sent = {k: payload(server, DELTAS[k]) for k in grants.entries} | dict(forged or {})
    return server.close(list(sent), sent.__getitem__)


@pytest.fixture
def server(federated: Callable[..., Any]) -> Callable[..., Server]:
    return lambda *overrides: Server(federated(PEERS, PLAIN, *overrides), START)


def test_equal_signals_are_uniform_averaging(server: Callable[..., Server]) -> None:
    """SWA differs from FedAvg by the signals alone: else the ablation measures something else."""
    weighted, uniform = server(), server("aggregation=uniform")
    signals = {k: signal(k) for k in range(4)}
    results = [closed(one, signals) for one in (weighted, uniform)]
    assert results[0].result.weights == dict.fromkeys(range(4), 0.25)
    assert results[0].version == results[1].version != version_of(START)


def test_no_signal_anywhere_changes_no_bit_and_is_noted(server: Callable[..., Server]) -> None:
    """A round in which nobody learnt anything must not move the policy, or be passed over in silence."""
    for kind in ("sgd", "nesterov", "adam"):
        one = server(f"server.kind={kind}")
        closed(one, {k: signal(k) for k in range(4)})
        before, state = one.weights.tobytes(), one.optimiser.state()
        kept = {name: vector.copy() for name, vector in state.items()}
        done = closed(one, {k: signal(k, 2, sigma=0.0) for k in range(4)}, round=2)
        assert one.weights.tobytes() == before
        assert not done.result.moved
        assert done.result.notes == ("no client has any weight: the policy stays as it is",)
        assert all(np.array_equal(kept[name], one.optimiser.state()[name]) for name in kept)


def test_nobody_there_is_a_round_too(server: Callable[..., Server]) -> None:
    """All clients of a small federation can be out at once: it waits for them where it stands."""
    one = server("robust=[norm_clip]")
    assert closed(one, {k: signal(k) for k in range(4)}).mu_global == 0.5
    before = one.weights.tobytes()
    done = closed(one, {}, round=2)
    assert (done.taken, done.result.moved, done.mu_global) == ([], False, 0.5)
    assert one.weights.tobytes() == before
    assert done.version == version_of(one.weights)


LIES = {
    "NaN": ({"sigma": float("nan")}, "not_finite"),
    "too large": ({"sigma": 0.6}, "inconsistent"),
    "too large for the mean": ({"mu": 0.9, "sigma": 0.5}, "inconsistent"),
    "negative": ({"sigma": -0.1}, "negative"),
    "foreign": ({"client": 2}, "foreign"),
    "old": ({"round": 0}, "foreign"),
    "too many": ({"n": 33}, "n"),
    "too wide": ({"nnz": N + 1}, "nnz"),
}


@pytest.mark.parametrize(("lie", "reason"), LIES.values(), ids=LIES)
def test_a_signal_that_cannot_be_true_costs_the_round(
    server: Callable[..., Server], lie: dict[str, Any], reason: str
) -> None:
    """σ buys weight and bandwidth: one NaN among them would be everyone's."""
    honest = {k: signal(k) for k in range(4)}
    one, without = server("budget.share=0.5"), server("budget.share=0.5")
    one.open()
    grants = one.grant(1, honest | {1: replace(honest[1], **lie)})
    assert grants.refused == {1: reason}
    without.open()
    assert grants.entries == without.grant(1, {k: honest[k] for k in (0, 2, 3)}).entries
    assert sum(grants.entries.values()) == 3 * N // 2


def test_a_punishment_for_length_leaves_the_check_on(server: Callable[..., Server]) -> None:
    """Rewards from -1 to 1 have a largest σ too: without one a liar's 1e9 takes the whole round."""
    one = server("grpo.overlong_buffer=8")
    one.open()
    sent = {0: signal(0, mu=-0.2, sigma=0.9), 1: signal(1, sigma=1e9), 2: signal(2, mu=-1.5)}
    assert one.grant(1, sent).refused == {1: "inconsistent", 2: "range"}


def forgeries(one: Server) -> dict[str, tuple[Any, str]]:
    """What a client may send instead of its update -> what the server says."""
    honest = payload(one, DELTAS[1])
    flipped = honest[:-1] + bytes([honest[-1] ^ 1])
    other = encode(Sparse(N, np.arange(9), np.ones(9, np.float32)), bytes(32))
    few = Sparse(N, np.arange(9), np.ones(9, np.float32))
    huge = np.zeros(N, np.float32)
    huge[3] = 1e30
    return {
        "wrong base": (other, "base version is 0000"),
        "over budget": (payload(one, np.ones(N, np.float32)), "entries is 5000; allowed is at most the"),
        "truncated": (honest[:-1], "sections is"),
        "cut in the header": (honest[:50], "length is 50 bytes"),
        "nothing": (b"", "length is 0 bytes"),
        "flipped": (flipped, "checksum"),
        "noise": (bytes(500), "magic"),
        "too large": (payload(one, huge), "1e+30"),
        "no bytes": (None, "NoneType"),
        "another thing": ([1, 2, 3], "list"),
        "NaN": (not_finite(one), "NaN"),
        "another coding": (encode(in_bf16(few), bytes.fromhex(one.version)), "coding is bf16"),
    }


def not_finite(one: Server) -> bytes:
    """What no encoder of ours writes: one NaN among values in float32, checksum and all."""
    fine = Sparse(N, np.array([5]), np.array([1.0], np.float32))
    good = encode(fine, bytes.fromhex(one.version), "zstd")
    from turncoat.platform.federation.codec import wire

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire.np, "isfinite", lambda values: np.ones(len(values), bool))
        bad = encode(replace(fine, values=np.array([np.nan], np.float32)), bytes.fromhex(one.version), "zstd")
    assert len(bad) == len(good)
    return bad


def test_a_forged_payload_costs_its_sender_the_round(server: Callable[..., Server]) -> None:
    """One client that sends rubbish must not end everyone's run, or reach the policy."""
    signals = {k: replace(signal(k), nnz=N // 5) for k in range(4)}
    for kind in forgeries(server()):
        one, without = server(), server()
        forged, why = forgeries(one)[kind]
        done = closed(one, signals, {1: forged})
        assert list(done.refused) == [1], kind
        assert why in done.refused[1], (kind, done.refused[1])
        assert "\n" not in done.refused[1]
        assert done.taken == [0, 2, 3]
        assert done.version == closed(without, {k: signals[k] for k in (0, 2, 3)}).version


@pytest.mark.parametrize(
    ("compression", "width", "group"),
    [("sparse_loco", 2, 64), ("{kind: top_k, values: bits, bits: 4, group: 256}", 4, 256)],
)
def test_bits_are_as_many_as_agreed(
    federated: Callable[..., Any], compression: str, width: int, group: int
) -> None:
    """Entries are granted, not bytes: eight bits and a scale for each entry are twenty times the two bits."""
    one = Server(federated("clients.count=1", "partition=iid", f"compression={compression}"), START)
    few = Sparse(N, np.arange(9), np.linspace(1, 2, 9, dtype=np.float32))
    for k, g, refused in ((width, group, {}), (8, group, {0}), (width, 1, {0})):
        one.open()
        one.grant(1, {0: signal(0)})
        sent = encode(quantised(few, k, g), bytes.fromhex(one.version))
        done = one.close([0], lambda _, sent=sent: sent)
        assert done.refused.keys() == set(refused)
        assert all(f"(bits, group) is {(k, g)}" in why for why in done.refused.values())


def test_a_refused_payload_leaves_nothing_behind(server: Callable[..., Server]) -> None:
    """A run in which it was refused must go on as the one in which its sender is marked absent."""
    one, without = server("aggregation=relative_gain"), server("aggregation=relative_gain")
    signals = {k: signal(k, mu=0.2 + 0.1 * k) for k in range(4)}
    closed(one, signals, {1: b""})
    closed(without, {k: signals[k] for k in (0, 2, 3)})
    assert one.aggregator.state() == without.aggregator.state()
    assert one.mu_global == without.mu_global


def test_the_server_s_own_update_may_be_missing(server: Callable[..., Server]) -> None:
    """The server's own client can be late as any other: a round without a step, not the end of the run."""
    one = server("robust=[fltrust]")
    for round, root in ((1, None), (2, payload(one, DELTAS[0]))):
        one.open()
        one.grant(round, {k: signal(k, round) for k in range(4)})
        done = one.close(range(4), lambda k: payload(one, DELTAS[k]), root)
        assert done.result.moved == (root is not None)
        assert (one.weights.tobytes() == START.tobytes()) == (root is None)
        assert bool(done.result.notes) == (root is None)


@pytest.mark.parametrize("overrides", [(), ("server={kind: nesterov, lr: 0.7}",), ("compression=sparsyfed",)])
def test_a_patch_leads_to_the_very_weights(server: Callable[..., Server], overrides: tuple[str, ...]) -> None:
    """What clients hold must be what the server holds, to the bit: else no version agrees again."""
    one, held = server(*overrides), START
    for round in (1, 2):
        closed(one, {k: signal(k, round) for k in range(4)}, round=round)
        opening = one.open()
        assert opening.patched_from == version_of(held)
        assert opening.patch is not None
        assert len(opening.patch) < 4 * N
        held = patched(held, opening.patched_from, opening.patch)
        assert held.tobytes() == one.weights.tobytes()
    with pytest.raises(ValueError, match="base version"):
        patched(START, version_of(START), opening.patch)
    assert server("downlink=dense").open().patch is None


def test_a_patch_keeps_the_sign_of_zero(server: Callable[..., Server]) -> None:
    """0 and -0 are equal and hash to different versions: a patch by values would lead nowhere."""
    one = server("clients.count=1", "compression={kind: dense, send: weights}")
    news = START.copy()
    news[:2] = 0.0, -0.0
    for round, weights in enumerate((news, -news), 1):
        held = one.weights.copy()
        one.open()
        one.grant(round, {0: signal(0, round)})
        update = Sparse(N, np.arange(N), weights, absolute=True)
        sent = encode(update, bytes.fromhex(one.version))
        one.close([0], lambda _, sent=sent: sent)
        opening = one.open()
        if opening.patch is not None:
            assert patched(held, opening.patched_from, opening.patch).tobytes() == weights.tobytes()
        assert one.weights.tobytes() == weights.tobytes()


def test_a_patch_longer_than_all_weights_is_not_sent(federated: Callable[..., Any]) -> None:
    """A header alone is longer than a few weights: then the patch would be the worse of the two."""
    one = Server(federated("clients.count=1", PLAIN), START[:8])
    one.open()
    one.grant(1, {0: signal(0, nnz=8)})
    done = one.close([0], lambda _: payload(one, np.ones(8, np.float32)))
    assert done.result.moved
    assert one.open().patch is None


def test_order_of_arrival_changes_nothing(server: Callable[..., Server]) -> None:
    """Networks are not deterministic; runs are."""
    found = set()
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        one = server("robust=[norm_clip, multi_krum]", "budget.share=0.7")
        one.open()
        grants = one.grant(1, {k: signal(k, sigma=0.1 * (k + 1), mu=0.3 + 0.1 * k) for k in order})
        assert list(grants.entries) == [0, 1, 2, 3]
        sent = {k: payload(one, DELTAS[k]) for k in order}
        done = one.close(order, sent.__getitem__)
        found.add((done.version, done.mu_global, tuple(done.taken)))
    assert len(found) == 1


def test_what_it_remembers_is_saved(server: Callable[..., Server], tmp_path: Path) -> None:
    """Weights, momentum, baselines and the mean reward: a server that forgets one of them goes elsewhere."""
    overrides = ("server={kind: adam, lr: 0.1}", "aggregation=relative_gain")
    one, again = server(*overrides), server(*overrides)
    closed(one, {k: signal(k, mu=0.2 + 0.1 * k) for k in range(4)})
    one.save(tmp_path)
    again.load(tmp_path)
    assert (again.version, again.mu_global) == (one.version, one.mu_global)
    assert again.open().patch is None, "who holds the version before gets all weights once"
    later = {k: signal(k, 2, mu=0.5 - 0.1 * k) for k in range(4)}
    ends = [closed(each, later, round=2) for each in (one, again)]
    assert ends[0].version == ends[1].version
    assert ends[0].result.weights == ends[1].result.weights


@pytest.mark.parametrize(("overrides", "share"), [((), 0.03), (("compression=dense",), 1.0)])
def test_memory_does_not_grow_with_clients(
    federated: Callable[..., Any], overrides: tuple[str, ...], share: float
) -> None:
    """A server that holds all updates at once is the first thing to break when a federation grows."""
    length = 2_000_000 if share < 1 else 250_000
    base = np.random.default_rng(0).standard_normal(length, np.float32)
    peaks = {}
    for count in (4, 32):
        one = Server(federated(f"clients.count={count}", "partition=iid", PLAIN, *overrides), base)
        one.open()
        one.grant(1, {k: signal(k, nnz=length) for k in range(count)})
        at = np.sort(np.random.default_rng(1).permutation(length)[: int(share * length)])

        def fetch(client: int, one: Server = one, at: np.ndarray = at) -> bytes:
            values = np.random.default_rng(client).standard_normal(len(at), np.float32)
            return encode(Sparse(length, at, values), bytes.fromhex(one.version), "zstd")

        tracemalloc.start()
        done = one.close(range(count), fetch)
        peaks[count] = tracemalloc.get_traced_memory()[1] / base.nbytes
        tracemalloc.stop()
        assert len(done.taken) == count
    print(f"peak over the dense vector: {peaks}")
    assert peaks[32] < 1.1 * peaks[4]
    assert peaks[32] < (3 if share < 1 else 12)
