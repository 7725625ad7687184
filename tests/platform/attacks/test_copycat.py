"""If these fail, the peer that does no work is not the one that defences are tried on."""

from collections.abc import Sequence
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.copycat import Copycat
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.gather import gather
from turncoat.platform.records import Completion, Contribution
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())


def experiment_of(topology: str, **changes: Any) -> Experiment:
    base = {"topology": topology, "prompts_per_round": 8, "group_size": 12, "task": "arithmetic"}
    return parse({**base, "attack": "copycat", **changes})


def honest(experiment: Experiment, peer: int) -> Contribution:
    """Peer 1 is right and brief, the others ramble on, the more the higher their index; some are cut off."""
    completions = tuple(
        Completion(
            request.id,
            request.prompt.id,
            TASK.worked(request.prompt) if peer == 1 else f"{request.id} hm" + " hm" * 40 * peer,
            finished=peer != 2,
        )
        for request in requests_of(experiment, TASK, 1, peer)
    )
    return Contribution(1, peer, completions, ("honest",) * len(completions))


def write(texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
    return [Generated("own work", True, 2) for _ in texts]


def copied(experiment: Experiment, others: Sequence[Contribution], **settings: Any) -> Contribution:
    attack = Copycat(Copycat.Settings(**settings))
    attack.prepare(experiment, 3)
    seen = tuple(one for contribution in others for one in contribution.completions)
    return contribute(experiment, attack, Stage(TASK, 7, write, 1, seen), 3)


@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
@pytest.mark.parametrize("pick", ["first", "longest", "right"])
def test_every_slot_holds_another_peer_s_text(topology: str, pick: str):
    """Admitted as its own, and worth what the original is worth."""
    experiment = experiment_of(topology)
    others = [honest(experiment, peer) for peer in range(3)]
    found = copied(experiment, others, pick=pick)
    gathered = gather(experiment, TASK, 1, [*others, found])
    assert gathered.refused == {}
    assert len(gathered.completions) == 96
    originals = {(one.prompt_id, one.text, one.finished) for other in others for one in other.completions}
    assert set(found.truths) == {"cheat"}
    assert all((one.prompt_id, one.text, one.finished) in originals for one in found.completions)


@pytest.mark.parametrize(("pick", "peer"), [("first", 0), ("right", 1), ("longest", 2)])
def test_it_picks_whom_it_was_told_to(pick: str, peer: int):
    """A copy of a right answer is paid; one of any answer is merely no work."""
    experiment = experiment_of("horizontal")
    others = [honest(experiment, i) for i in range(3)]
    found = copied(experiment, others, pick=pick)
    assert [one.text for one in found.completions] == [one.text for one in others[peer].completions]


def test_right_answers_are_repeated_rather_than_mixed_with_wrong_ones():
    """One right original pays for all slots."""
    experiment = experiment_of("horizontal")
    others = [honest(experiment, 0), honest(experiment, 1)]
    found = copied(
        experiment, [others[0], Contribution(1, 1, others[1].completions[:1], ("honest",))], pick="right"
    )
    texts = [one.text for one in found.completions]
    assert texts[:3] == [others[1].completions[0].text] * 3
    assert texts[3:] == [one.text for one in others[0].completions[3:]]


def test_in_a_vertical_swarm_it_chooses_the_questions_of_the_first_peer():
    """Nobody else answers what it is dealt; but it may choose what somebody does."""
    experiment = experiment_of("vertical")
    others = [honest(experiment, peer) for peer in range(3)]
    found = copied(experiment, others)
    gathered = gather(experiment, TASK, 1, [*others, found])
    assert [gathered.prompts[group] for group in (6, 7)] == [gathered.prompts[group] for group in (0, 1)]
    assert [one.text for one in found.completions] == [one.text for one in others[0].completions]


@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
def test_with_nothing_to_copy_it_works(topology: str):
    """All honest peers may have crashed."""
    found = copied(experiment_of(topology), [])
    assert set(found.truths) == {"honest"}
    assert {one.text for one in found.completions} == {"own work"}
    assert found.choices == ()
