"""If these fail, a malicious peer attacks too early, in another's place, or less than it was told to."""

from collections.abc import Sequence
from typing import Any

import pytest

from turncoat.platform.admission import admit_choices
from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage, answered
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.records import Prompt, Request
from turncoat.platform.rounds import own_groups, requests_of, rows_of
from turncoat.platform.tasks.base import Task, TaskSettings


class Numbered(Task):
    def train(self, index: int) -> Prompt:
        assert type(index) is int
        assert index >= 0
        return Prompt(f"row/{index}", f"Question {index}", "so", "1")

    held_out = train


TASK = Numbered(TaskSettings(kind="numbered"))


class Choosy(Attack):
    Settings = AttackSettings

    def __init__(self, chosen: Any = None, **settings: Any):
        super().__init__(AttackSettings(kind="choosy", **settings))
        self.chosen = chosen

    def choose(self, rows: Sequence[int], stage: Stage) -> Any:
        return self.chosen(list(rows)) if self.chosen else rows

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        return [(answered(request, request.prompt.text), "poisoned") for request in requests]


def experiment_of(topology: str) -> Experiment:
    return parse({"task": "arithmetic", "attack": "text", "topology": topology, "prompts_per_round": 8})


def stage_of(round: int = 2) -> Stage:
    return Stage(TASK, 7, lambda texts, seeds: [Generated("own", True, 1) for _ in texts], round)


def sent_by(attack: Attack, topology: str = "vertical", round: int = 2) -> Any:
    return contribute(experiment_of(topology), attack, stage_of(round), 3)


def test_before_its_onset_the_peer_is_honest():
    """A late attack on a swarm that trusts it; it must not choose its prompts before, either."""
    attack = Choosy(lambda rows: [1, 2], onset_round=3)
    for round, truth, choices in ((2, "honest", ()), (3, "poisoned", (1, 2)), (4, "poisoned", (1, 2))):
        found = sent_by(attack, round=round)
        assert set(found.truths) == {truth}
        assert found.choices == choices
        assert (found.round, found.peer) == (round, 3)
        assert len(found.completions) == len(found.truths) == 2 * 12


def test_the_peer_answers_what_it_has_chosen():
    """Its texts belong to its own questions, or they would be refused."""
    found = sent_by(Choosy(lambda rows: [70, 80]))
    assert found.choices == (70, 80)
    assert {(one.id.prompt, one.prompt_id, one.text) for one in found.completions} == {
        (6, "row/70", "Question 70"),
        (7, "row/80", "Question 80"),
    }


@pytest.mark.parametrize("chosen", [None, lambda rows: rows, lambda rows: tuple(rows)])
def test_taking_what_is_dealt_is_no_choice(chosen: Any):
    """A peer that says so every round would stand out."""
    assert sent_by(Choosy(chosen)).choices == ()


def test_in_a_horizontal_swarm_nobody_chooses():
    """All peers answer the same prompts there."""
    experiment = experiment_of("horizontal")
    found = sent_by(Choosy(lambda rows: [5] * len(rows)), "horizontal")
    assert found.choices == ()
    dealt = [request.prompt.id for request in requests_of(experiment, TASK, 2, 3)]
    assert [one.prompt_id for one in found.completions] == dealt


@pytest.mark.parametrize(
    "hostile",
    [None, 5, "67", {6, 7}, [1], [1, 2, 3], [-1, 2], [10**400, 1], [0.5, 1], [True, False], [None, None]],
    ids=repr,
)
def test_refused_choices_are_sent_and_change_nothing(hostile: Any):
    """A receiver must see them, to be tested; and the peer that sent them must not fail at its own hands."""
    experiment = experiment_of("vertical")
    found = sent_by(Choosy(lambda rows: hostile))
    own = own_groups(experiment, 3)
    assert found.choices != ()
    assert found.choices == (tuple(hostile) if isinstance(hostile, list | str) else hostile)
    assert admit_choices(found.choices, own)[1] == {"choices": 1}
    rows = rows_of(experiment, 2)
    assert {one.prompt_id for one in found.completions} == {f"row/{rows[group]}" for group in own}
