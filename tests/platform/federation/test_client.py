"""One client: its memory, its journal, its two phases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.codec.header import Expected
from turncoat.platform.federation.codec.wire import decode
from turncoat.platform.journal import completions as journal

FEEDBACK = ("clients.count=1", "error_feedback=1.0", "compression={kind: top_k, share: 0.02, values: bf16}")


def test_what_is_not_sent_is_owed(federation: Callable[..., Any], tmp_path: Path) -> None:
    """Σ sent + e_T = Σ Δ over rounds, through a save and load: else small updates are lost for good."""
    one = federation(*FEEDBACK, "clients.keep_optimiser=true")
    total = np.zeros_like(one.server.weights)
    learnt = total.copy()
    for round in (1, 2, 3):
        opening = one.server.open()
        before = opening.weights.copy()
        version = opening.version
        one.round(round)
        learnt += one.trainers[0].weights() - before
        length = len(before)
        total += decode(one.payloads[0], Expected(length, length, bytes.fromhex(version))).dense()
        if round == 2:
            folder = one.save(tmp_path / "saved")
            one.clients[0].feedback.residual[:] = 9
            one.clients[0] = one.member(0)
            one.clients[0].load(folder / "0")
    owed = one.clients[0].feedback.residual
    assert np.abs(learnt).max() > 1e-4
    assert np.count_nonzero(owed) > len(owed) // 2
    assert np.allclose(total + owed, learnt, rtol=0, atol=1e-7)


def test_a_round_that_did_not_count_is_forgotten(federation: Callable[..., Any]) -> None:
    """Whoever was late owes what it owed before, and begins its next round with the optimiser of before."""
    one = federation(*FEEDBACK, "clients.keep_optimiser=true", "clients.malicious=0")
    one.round(1)
    client = one.clients[0]
    owed, optimiser = client.feedback.state(), client.optimiser
    one.round(2, late=[0])
    assert np.array_equal(client.feedback.residual, owed)
    assert client.optimiser is optimiser
    opening = one.server.open()
    client.work(3, opening.weights, opening.version, None)
    assert not np.array_equal(client.feedback.residual, owed)
    client.work(4, opening.weights, opening.version, None)  # Round 3 was never closed.
    client.drop()
    assert np.array_equal(client.feedback.residual, owed)


def test_a_liar_s_memory_goes_back_too(federation: Callable[..., Any]) -> None:
    """An attacker that remembers a round that never was makes another run than the one marked absent."""
    one = federation("clients.count=2", "clients.malicious=1", "lie=little_is_enough", "partition=iid")
    one.round(1)
    liar = one.clients[1]
    before = {name: vector.copy() for name, vector in liar.liar.state().items()}
    assert before
    one.round(2, late=[1])
    after = liar.liar.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert after["count"] == 1


def test_phases_out_of_turn_are_refused(federation: Callable[..., Any]) -> None:
    """An update of another round, sent as this one's, would be applied to weights it was not made for."""
    one = federation("clients.count=1")
    with pytest.raises(ValueError, match="client-00 has done no work in round 1"):
        one.clients[0].send(1, None)
    opening = one.server.open()
    one.clients[0].work(1, opening.weights, opening.version, None)
    with pytest.raises(ValueError, match="client-00 has done no work in round 2"):
        one.clients[0].send(2, None)
    with pytest.raises(ValueError, match="client-00 has done no work in round 2"):
        one.clients[0].settle(2, taken=True)
    one.clients[0].settle(2, taken=False)
    assert one.clients[0].pending is None


def test_the_signal_is_that_of_its_own_journal(federation: Callable[..., Any]) -> None:
    """What buys weight can be recomputed from what the client kept: means over all steps' groups."""
    one = federation()
    one.round(1)
    for k, report in one.reports.items():
        rows = journal.read(one.clients[k].folder, ["prompt", "reward", "peer", "round"]).to_pylist()
        groups: dict[int, list[float]] = {}
        for row in rows:
            groups.setdefault(row["prompt"], []).append(row["reward"])
        assert sorted(groups) == list(range(8)), "two steps' groups are counted through"
        signal = report.signal
        assert (signal.client, signal.round, signal.n) == (k, 1, 32)
        assert signal.mu == pytest.approx(np.mean([row["reward"] for row in rows]))
        assert signal.sigma == pytest.approx(np.mean([np.std(group) for group in groups.values()]))
        assert report.figures["reward_mean"] == pytest.approx(signal.mu)


def test_calibration_turns_with_the_others_mean(federation: Callable[..., Any]) -> None:
    """λ > 0 must change what is learnt as μ_glob does, and λ = 0 must not hear of it."""
    for strength, differs in ((1.0, True), (0.0, False)):
        one = federation("clients.count=1", f"signals.calibration={strength}", "prompts_per_step=8")
        opening = one.server.open()
        ends = []
        for mu in (None, 0.05, 0.95):
            one.clients[0].work(1, opening.weights, opening.version, mu)
            ends.append(one.trainers[0].weights().tobytes())
        assert (len(set(ends)) > 1) == differs


def test_no_prompt_is_dealt_twice(federation: Callable[..., Any]) -> None:
    """Clients have data of their own; a step that repeats the last one's prompts learns half as much."""
    one = federation("partition=iid").run(last=2)
    seen = [
        set(journal.read(client.folder, ["prompt_id"])["prompt_id"].to_pylist())
        for client in one.clients.values()
    ]
    assert [len(ids) for ids in seen] == [2 * 2 * 4] * 3
    assert len(set.union(*seen)) == 3 * 2 * 2 * 4


def test_central_training_sees_what_all_clients_see(federation: Callable[..., Any], tmp_path: Path) -> None:
    """The reference is one learner on the same prompts, step by step, and not on a third of them."""
    from turncoat.platform.federation.client import Client

    apart = federation().run(last=1)
    trainer = federation("kind=centralised").trainers[0]
    client = Client(trainer.experiment, 0, trainer, tmp_path)
    client.work(1, trainer.weights(), "", None)

    def steps(folder: Path, groups: int) -> list[set[str]]:
        rows = journal.read(folder, ["prompt", "prompt_id"]).to_pylist()
        return [{row["prompt_id"] for row in rows if row["prompt"] // groups == step} for step in (0, 1)]

    shares = [steps(one.folder, 4) for one in apart.clients.values()]
    assert steps(tmp_path, 12) == [set.union(*(share[step] for share in shares)) for step in (0, 1)]


def test_who_has_more_rows_has_more_samples(federation: Callable[..., Any], tmp_path: Path) -> None:
    """Where all clients send equally many samples, weighing by samples is no other baseline than uniform."""
    from turncoat.platform.federation.client import Client

    uneven = ("task.levels=[1, 2, 2, 3, 3, 3]", "clients.prompts=by_rows", "aggregation=by_samples")
    apart = federation(*uneven)
    apart.round(1)
    counts = [report.signal.n // (2 * 4) for _, report in sorted(apart.reports.items())]
    assert counts == [2, 4, 6]
    assert list(apart.closings[0].result.weights.values()) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    trainer = federation("kind=centralised", *uneven).trainers[0]
    central = Client(trainer.experiment, 0, trainer, tmp_path)
    assert central.work(1, trainer.weights(), "", None).signal.n == 12 * 2 * 4
    seen = [
        set(journal.read(one.folder, ["prompt_id"])["prompt_id"].to_pylist())
        for one in (*apart.clients.values(), central)
    ]
    assert set.union(*seen[:-1]) == seen[-1]


def test_rewound_journals_hold_nothing_of_later_rounds(federation: Callable[..., Any]) -> None:
    """A resumed run that keeps rounds of its first life reports completions that nobody learnt from."""
    one = federation("clients.count=1").run(last=3)
    client = one.clients[0]
    client.close_journal()
    client.rewind(1)
    assert set(journal.read(client.folder, ["round"])["round"].to_pylist()) == {1}
    one.run(2, 2)
    assert journal.rounds(client.folder) == [1, 2]


def test_a_client_without_data_is_said_before_the_run(federation: Callable[..., Any]) -> None:
    """Three levels for four clients: one would have nothing to learn from, and weigh nothing for ever."""
    with pytest.raises(BadInput, match=r"partition.kind: 'by_level' finds 3"):
        federation("clients.count=4")
