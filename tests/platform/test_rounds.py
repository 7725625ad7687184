"""If these fail, peers answer each other's prompts, or none; or a run trains on the same questions twice."""

from typing import Any

import pytest

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.records import Prompt
from turncoat.platform.rounds import prompts_of, requests_of, slots_of
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
