"""Whole rounds of real clients and their server: what must be equal is equal to the bit."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.platform.federation.client import Client
from turncoat.platform.federation.trainer import Trainer
from turncoat.platform.federation.vectors import version_of
from turncoat.platform.journal import completions as journal

ALONE = ("clients.count=1", "signals.calibration=0", "clients.keep_optimiser=true", "server.lr=1")
WEIGHTS = ("compression={kind: dense, send: weights}", "downlink=dense")


def versions(federation: Any) -> list[str]:
    return [closing.version for closing in federation.closings]


def test_one_client_that_sends_weights_is_central_training(
    federation: Callable[..., Any], federated: Callable[..., Any], tmp_path: Path
) -> None:
    """Else no gap between federated and central training says what it comes from."""
    more = ("optimiser.warmup_rounds=3", "optimiser.decay_rounds=9")
    found = federation(*ALONE, *WEIGHTS, *more).run(last=3)
    central = federated(*ALONE, "kind=centralised", *more)
    client = Client(central, 0, Trainer(central), tmp_path)
    start = client.trainer.weights()
    hashes = []
    for round in (1, 2, 3):
        client.work(round, start, version_of(start), None)
        client.settle(round, taken=True)
        hashes.append(version_of(client.own_or(start)))
    assert versions(found) == hashes
    assert len(set(hashes)) == 3


def test_differences_do_not_equal_central_training(federation: Callable[..., Any]) -> None:
    """Why `send: weights` is there, and that the test above can fail: θ + (θ_k − θ) is not θ_k."""
    sums = federation(*ALONE, "compression=dense").run(last=1)
    assert versions(sums) != versions(federation(*ALONE, *WEIGHTS).run(last=1))


def test_natural_is_dense_in_ulps(federation: Callable[..., Any]) -> None:
    """The claim "lossless": the sparse support leaves out nothing that bfloat16 would have shown."""
    natural = federation("compression=natural").run(last=2)
    dense = federation("compression={kind: dense, values: ulp}").run(last=2)
    assert versions(natural) == versions(dense)
    sent = [cost.entries for cost in natural.closings[-1].costs.values()]
    assert all(0 < entries < len(natural.server.weights) for entries in sent)


def test_whole_budget_is_the_dense_weighted_sum(federation: Callable[..., Any]) -> None:
    """B = 1 sends everything: what sparse updates sum to is Σ w_k Δ_k, dense, to the bit."""
    found = federation("compression={kind: top_k, share: 1.0, values: fp32}")
    before = found.server.weights.copy()
    deltas = {}
    opening = found.server.open()
    for k, client in found.clients.items():
        client.work(1, opening.weights, opening.version, None)
        deltas[k] = found.trainers[0].weights() - before
    closing = found.round(1)
    total = np.zeros_like(before)
    for k in sorted(deltas):
        total += np.float32(closing.result.weights[k]) * deltas[k]
    assert np.array_equal(found.server.weights, before + total)
    assert closing.version == federation("compression=dense").round(1).version


STATES = {
    "feedback, optimiser, nesterov, baselines, liar's moments": (
        "compression={kind: top_k, share: 0.05}", "error_feedback=1.0", "budget.share=0.5",
        "clients.keep_optimiser=true", "server={kind: nesterov, lr: 0.7}", "aggregation=relative_gain",
        "clients.malicious=1", "lie=little_is_enough",
    ),
    "own feedback, participants, adam, liar's last base": (
        "compression=sparse_loco", "clients.per_round=2", "server={kind: adam, lr: 0.001}",
        "clients.malicious=1", "lie=free_rider", "robust=[norm_clip]", "downlink=dense",
    ),
    "root, adapters": (
        "robust=[fltrust]", "clients.count=2", "partition=iid", "policy.lora={rank: 2}",
        "optimiser.lr=0.001", "clients.keep_optimiser=true",
        "error_feedback=0.9",
    ),
    "calibration alone": ("clients.count=2", "prompts_per_step=8"),
}  # fmt: skip


@pytest.mark.parametrize("overrides", STATES.values(), ids=STATES)
def test_resumed_is_as_if_nothing_had_happened(
    federation: Callable[..., Any], tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    """Whatever a server, a client or a liar remembers is in the checkpoint: else a restart is another run."""
    overrides = (*overrides, "local_steps=1")
    whole = federation(*overrides).run(last=2)
    folder = whole.save(tmp_path / "checkpoint")
    whole.run(3, 4)
    resumed = federation(*overrides).load(folder).run(3, 4)
    assert versions(resumed) == versions(whole)[2:]
    assert len(set(versions(whole))) == 4
    memories = [one.save(tmp_path / name) for name, one in (("a", whole), ("b", resumed))]
    files = [sorted(p.relative_to(m) for p in m.rglob("*.safetensors")) for m in memories]
    assert files[0] == files[1]
    assert all((memories[0] / p).read_bytes() == (memories[1] / p).read_bytes() for p in files[0])


def test_neither_processes_nor_arrival_change_the_run(federation: Callable[..., Any]) -> None:
    """A laptop with one process and a cluster with one for each client make the same run."""
    overrides = ("clients.keep_optimiser=true", "error_feedback=1.0", "budget.share=0.3", "robust=[krum]")
    together = federation(*overrides).run(last=2)
    apart = federation(*overrides, trainers=3)
    for round in (1, 2):
        apart.round(round, order=lambda clients: clients[::-1])
    assert versions(apart) == versions(together)


def test_who_drops_out_was_never_asked(federation: Callable[..., Any], tmp_path: Path) -> None:
    """Late in either phase, refused or marked absent: the rest renormalise, and nothing is left of the round.

    Else a run with a crash cannot be repeated from its config.
    """
    overrides = ("error_feedback=1.0", "clients.keep_optimiser=true")
    marked = federation(*overrides, "clients.absent={2: [1]}").run(last=1)
    start = marked.save(tmp_path / "start")
    marked.run(2, 3)
    assert sum(marked.closings[1].result.weights.values()) == pytest.approx(1)
    for more in (
        {"late": [1]},
        {"claims": {1: lambda signal: "not a signal"}},
        {"forges": {1: lambda payload: payload[:-1]}},
    ):
        one = federation(*overrides).load(start)
        assert one.round(2, **more).taken == [0, 2]
        one.round(3)
        assert versions(one) == versions(marked)[1:]


@pytest.mark.parametrize(("rule", "same"), [("signal", False), ("uniform", False), ("fixed", True)])
def test_who_is_lost_between_the_phases_has_had_its_budget(
    federation: Callable[..., Any], rule: str, same: bool
) -> None:
    """The one case in which such a round is not the one marked absent; docs/federated.md says which."""
    overrides = ("budget.share=0.3", f"budget.rule={rule}")
    one, marked = federation(*overrides), federation(*overrides, "clients.absent={1: [1]}")
    assert one.round(1, late=[1]).taken == marked.round(1).taken == [0, 2]
    assert (one.server.version == marked.server.version) == same


def texts_of(folder: Path) -> list[bytes]:
    """All prompts and completions of a client, long enough not to stand somewhere by chance."""
    table = journal.read(folder, ["prompt_text", "text"]).to_pylist()
    return sorted({text.encode() for row in table for text in row.values() if len(text) >= 12})


def test_no_text_and_no_single_reward_reaches_the_server(
    federation: Callable[..., Any], tmp_path: Path
) -> None:
    """The one promise of a federation: data stay where they are."""
    found = federation("clients.keep_optimiser=true", "error_feedback=1.0", "aggregation=task_accuracy")
    heard = []
    for round in (1, 2):
        found.round(round)
        signals = [report.signal for report in found.reports.values()]
        heard += [pickle.dumps(signals), pickle.dumps(found.payloads)]
        for signal in signals:
            told = [getattr(signal, name) for name in signal.__dataclass_fields__]
            assert all(type(one) in (int, float) for one in told)
            assert len(told) == 8
    found.server.save(tmp_path)
    heard += [path.read_bytes() for path in tmp_path.iterdir()]
    assert set(json.loads((tmp_path / "server.json").read_text())) == {"mu_global", "aggregator"}
    for k, client in found.clients.items():
        texts = texts_of(client.folder)
        assert len(texts) > 20
        assert not [text for text in texts for one in heard if text in one]
        assert set(journal.read(client.folder, ["peer"])["peer"].to_pylist()) == {k}
        rows = journal.read(client.folder, ["round", "reward", "receiver"])
        assert rows.num_rows == 2 * 2 * 4 * 4
        others = [texts_of(one.folder) for j, one in found.clients.items() if j != k]
        assert not {text for text in texts} & {text for one in others for text in one if b"=" in text}
