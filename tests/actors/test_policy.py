"""What the processes that hold a policy hand to one another, tried without Ray."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from turncoat.actors.policy import REPUTATION, LearnerShard, PolicyPeer, RolloutWorker
from turncoat.platform.attacks.own_policy import OwnPolicy
from turncoat.platform.gather import gather
from turncoat.platform.records import Completion, Contribution
from turncoat.platform.rounds import slots_of


@pytest.mark.parametrize("change", [(), ("policy.dtype=bfloat16", "policy.lora.rank=4")])
def test_rollout_workers_take_up_the_learners_weights(
    tiny: Callable[..., Any], change: tuple[str, ...]
) -> None:
    """Adapters alone are trained and handed on, and NumPy, which carries the weights, knows no bfloat16."""
    import torch

    plain = tiny(*change).model_dump(mode="json")
    learner, worker = LearnerShard(plain, 0, {}), RolloutWorker(plain, 0)
    learner.start(), worker.start()
    with torch.no_grad():
        for tensor in learner.learner.trainable.values():
            tensor.add_(0.25)
    worker.take(learner.weights())
    there = dict(worker.model.named_parameters())
    assert all(torch.equal(tensor, there[name]) for name, tensor in learner.model.named_parameters())


def test_a_look_alike_takes_up_the_learners_weights_too(tiny: Callable[..., Any]) -> None:
    """As they come from a learner: else it would sample from the policy as it was before the run."""
    import torch

    one = tiny("policy.dtype=bfloat16")
    learner = LearnerShard(one.model_dump(mode="json"), 0, {})
    learner.start()
    with torch.no_grad():
        for tensor in learner.learner.trainable.values():
            tensor.add_(0.25)
    own = OwnPolicy(one, "tiny-0.3m", one.engine)
    own.take(learner.weights())
    there = dict(own.model.named_parameters())
    assert all(torch.equal(tensor, there[name]) for name, tensor in learner.model.named_parameters())


def peer_of(experiment: Any) -> PolicyPeer:
    peer = PolicyPeer(experiment.model_dump(mode="json"), 0, {})
    peer.start()
    return peer


def round_of(peer: PolicyPeer, experiment: Any, round: int, bad: int | None) -> Any:
    """All four peers send what an honest one would; of peer `bad` only what no policy would write."""
    owed = [slots_of(experiment, round, who) for who in range(4)]
    sent = peer.contribute(round, *owed)
    if bad is not None:
        spoilt = [replace(one, text="thief " * 20) for one in sent[bad].completions]
        sent[bad] = Contribution(round, bad, tuple(spoilt), ("poisoned",) * len(spoilt))
    return gather(experiment, peer.task, round, sent)


def test_what_a_peer_remembers_of_others_is_in_its_checkpoint(
    tiny: Callable[..., Any], tmp_path: Path
) -> None:
    """A run that was killed while a peer was quarantined would else let it in again."""
    one = tiny("defences=[support]", "reputation.strikes=1", "reputation.quarantine_rounds=3")
    first = peer_of(one)
    gathered = round_of(first, one, 1, bad=3)
    first.receive(1, gathered.completions, gathered.choices)
    sha = first.save(tmp_path)
    assert (tmp_path / REPUTATION).is_file()

    second = peer_of(one)
    assert second.load(tmp_path) == sha
    gathered = round_of(first, one, 2, bad=None)
    found = [peer.receive(2, gathered.completions, gathered.choices) for peer in (first, second)]
    assert found[0][0].beliefs == found[1][0].beliefs
    assert found[0][1] == found[1][1]
    rejected = {belief.id.peer for belief in found[1][0].beliefs if "quarantine" in belief.rejected_by}
    assert rejected == {3}


def test_without_a_reputation_a_checkpoint_holds_none(tiny: Callable[..., Any], tmp_path: Path) -> None:
    """Every round stands for itself."""
    peer = peer_of(tiny("defences=[support]"))
    peer.save(tmp_path)
    assert not (tmp_path / REPUTATION).exists()


def test_a_receiver_judges_chosen_prompts_by_their_own_answers(tiny: Callable[..., Any]) -> None:
    """It must look up the row that was chosen: by the dealt one's answer every text would be wrong."""
    one = tiny("topology=vertical", "group_size=2")
    peer = peer_of(one)
    sent = peer.contribute(1, *[slots_of(one, 1, who) for who in range(3)])
    chosen = peer.task.train(77)
    texts = [peer.task.worked(chosen), "hm"]
    own = tuple(Completion(id, chosen.id, text) for id, text in zip(slots_of(one, 1, 3), texts, strict=True))
    gathered = gather(one, peer.task, 1, [*sent, Contribution(1, 3, own, ("poisoned",) * 2, (77,))])
    assert gathered.choices == {3: 77}
    outcome, _ = peer.receive(1, gathered.completions, gathered.choices)
    assert [b.verdict for b in outcome.beliefs if b.id.peer == 3] == ["right", "malformed"]


def test_an_appraisal_is_asked_of_an_actor(tiny: Callable[..., Any]) -> None:
    """It says what the round would, and leaves the weights alone."""
    one = tiny("defences=[support]")
    peer = peer_of(one)
    gathered = round_of(peer, one, 1, bad=3)
    before = peer.weights_sha256()
    told = peer.appraise(gathered.completions, gathered.prompts)
    assert peer.weights_sha256() == before
    outcome, _ = peer.receive(1, gathered.completions, gathered.choices)
    assert [belief.accepted for belief in told] == [belief.accepted for belief in outcome.beliefs]
    assert {belief.accepted for belief in told if belief.id.peer == 3} == {False}
