"""If these fail, peers answer each other's prompts, or none; or a run trains on the same questions twice."""

from typing import Any

import pytest

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.records import Prompt
from turncoat.platform.rounds import own_groups, prompts_of, requests_of, rows_of, slots_of
from turncoat.platform.tasks.base import Task, TaskSettings


class Numbered(Task):
    def train(self, index: int) -> Prompt:
        assert index >= 0
        return Prompt(f"row/{index}", f"Question {index}", "so", "1")

    held_out = train


TASK = Numbered(TaskSettings(kind="numbered"))


def experiment_of(topology: str, m: int = 4, b: int = 8, g: int = 12, **changes: Any) -> Experiment:
    base = {"topology": topology, "peers": {"count": m}, "prompts_per_round": b, "group_size": g}
    return parse({"task": "arithmetic", "attack": "text", **base, **changes})


@pytest.mark.parametrize(
    ("topology", "m", "b", "g"),
    [
        ("vertical", 4, 8, 12),
        ("vertical", 6, 48, 5),
        ("vertical", 64, 64, 2),
        ("horizontal", 4, 8, 12),
        ("horizontal", 12, 7, 12),
        ("horizontal", 2, 1, 64),
    ],
)
def test_every_slot_has_exactly_one_owner(topology: str, m: int, b: int, g: int):
    """Over all peers: B groups of G completions."""
    experiment = experiment_of(topology, m, b, g)
    slots = [slot for peer in range(m) for slot in slots_of(experiment, 3, peer)]
    assert len(slots) == len(set(slots)) == b * g
    for prompt in range(b):
        owners = [slot.peer for slot in slots if slot.prompt == prompt]
        assert len(owners) == g
        # Vertical: a group has one writer. Horizontal: an equal slice from everybody.
        assert len(set(owners)) == (1 if topology == "vertical" else m)
    for peer in range(m):
        own = slots_of(experiment, 3, peer)
        assert own == sorted(own)
        assert {(slot.round, slot.peer) for slot in own} == {(3, peer)}
        assert len(own) == b * g // m


def test_in_vertical_every_peer_owns_as_many_prompts():
    """The share of malicious peers is the share of poisoned groups."""
    experiment = experiment_of("vertical", m=4, b=8)
    assert [sorted({s.prompt for s in slots_of(experiment, 1, p)}) for p in range(4)] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
    ]


@pytest.mark.parametrize("topology", ["vertical", "horizontal"])
def test_no_prompt_comes_twice_within_a_run(topology: str):
    """Rounds walk through the rows; a prompt seen twice would be learnt by heart."""
    experiment = experiment_of(topology)
    ids = [prompt.id for round in range(1, 41) for prompt in prompts_of(experiment, TASK, round).values()]
    assert len(ids) == len(set(ids)) == 320


def test_prompts_are_the_same_for_everyone_and_others_in_another_run():
    """All peers hold the prompts of a round without a word between them; seeds are repeats, not copies."""
    first = prompts_of(experiment_of("vertical"), TASK, 2)
    assert list(first) == list(range(8))
    assert prompts_of(experiment_of("horizontal"), TASK, 2) == first
    other = prompts_of(experiment_of("vertical", seed=1), TASK, 2)
    assert not {prompt.id for prompt in other.values()} & {prompt.id for prompt in first.values()}


def test_requests_pair_each_slot_with_its_prompt():
    """A completion under another prompt's question is refused at the door."""
    experiment = experiment_of("vertical")
    prompts = prompts_of(experiment, TASK, 2)
    requests = requests_of(experiment, TASK, 2, 1)
    assert [request.id for request in requests] == slots_of(experiment, 2, 1)
    assert all(request.prompt == prompts[request.id.prompt] for request in requests)


def test_rows_are_those_behind_the_prompts():
    """An attack chooses rows, and a checker asks whether they are those that the protocol deals out."""
    experiment = experiment_of("vertical", seed=3)
    assert [prompt.id for prompt in prompts_of(experiment, TASK, 5).values()] == [
        f"row/{row}" for row in rows_of(experiment, 5).values()
    ]
    assert list(rows_of(experiment, 5)) == list(range(8))


def test_chosen_rows_stand_in_for_the_dealt_ones_of_their_groups():
    """The others of the round stay as they are."""
    experiment = experiment_of("vertical")
    dealt = prompts_of(experiment, TASK, 2)
    found = prompts_of(experiment, TASK, 2, {7: 70, 3: 3})
    assert list(found) == list(dealt)
    assert {group for group in dealt if found[group] != dealt[group]} == {3, 7}
    assert (found[7].id, found[3].id) == ("row/70", "row/3")
    requests = requests_of(experiment, TASK, 2, 3, {7: 70})
    assert {(r.id.prompt, r.prompt.id) for r in requests} == {(6, dealt[6].id), (7, "row/70")}


@pytest.mark.parametrize("topology", ["vertical", "horizontal"])
def test_own_groups_are_those_of_the_slots(topology: str):
    """A choice is of one's own groups: any more would be other peers' questions."""
    experiment = experiment_of(topology)
    for peer in range(4):
        owed = {slot.prompt for slot in slots_of(experiment, 1, peer)}
        assert owed == set(own_groups(experiment, peer))
