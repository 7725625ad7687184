"""If these fail, one peer's messages end the run for all, or teach without having been let in."""

from collections import Counter
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.hostile import ADMITTED, CHOICES, REFUSED, HostileMessages
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.gather import gather, parquet_rows, round_line
from turncoat.platform.journal import completions
from turncoat.platform.receive import Receiver
from turncoat.platform.records import Completion, Contribution
from turncoat.platform.rounds import requests_of
from turncoat.platform.screen import Screen
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())

REASONS = {
    "missing": {},
    "none": {"type": 1},
    "number": {"type": 1},
    "bytes": {"type": 1},
    "no_end_flag": {"type": 1},
    "no_id": {"foreign": 1},
    "float_id": {"foreign": 1},
    "other_peer": {"foreign": 1},
    "next_round": {"foreign": 1},
    "no_group": {"foreign": 1},
    "other_prompt": {"prompt": 1},
    "array_prompt": {"prompt": 1},
    "oversized": {"oversized": 1},
}


def experiment_of(topology: str = "horizontal", **attack: Any) -> Experiment:
    return parse(
        {
            "task": "arithmetic",
            "policy": {"name_or_path": "tiny-0.3m"},
            "topology": topology,
            "prompts_per_round": 8,
            "group_size": 4,
            "sampling": {"max_new_tokens": 48},
            "optimiser": {"lr": 0.01, "warmup_rounds": 0},
            "attack": {"kind": "hostile", **attack},
        }
    )


def honest(experiment: Experiment, peer: int) -> Contribution:
    """Every other one of a group is right."""
    sent = tuple(
        Completion(request.id, request.prompt.id, TASK.worked(request.prompt) if (peer + slot) % 2 else "hm")
        for slot, request in enumerate(requests_of(experiment, TASK, 1, peer))
    )
    return Contribution(1, peer, sent, ("honest",) * len(sent))


def hostile(experiment: Experiment, round: int = 1) -> Contribution:
    stage = Stage(TASK, 7, sample=None, round=round)
    return contribute(experiment, HostileMessages(experiment.attack), stage, 3)


def sent_in(experiment: Experiment) -> list[Contribution]:
    return [*(honest(experiment, peer) for peer in range(3)), hostile(experiment)]


@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
def test_every_refused_message_has_its_reason_and_leaves_its_slot_empty(message: str, topology: str):
    """Counted by reason, one finds out what a peer is up to."""
    experiment = experiment_of(topology, messages=[message])
    gathered = gather(experiment, TASK, 1, sent_in(experiment))
    expected = Counter({reason: 8 for reason in REASONS[message]}) + Counter(missing=8)
    assert gathered.refused == dict(sorted(expected.items()))
    assert {id.peer for id in gathered.truths} == {0, 1, 2}


@pytest.mark.parametrize("message", ADMITTED)
def test_every_admitted_message_is_a_text_like_any_other(message: str):
    """It is in the record, with its truth."""
    experiment = experiment_of(messages=[message])
    gathered = gather(experiment, TASK, 1, sent_in(experiment))
    assert gathered.refused == ({"duplicate": 8} if message == "duplicate" else {})
    assert [truth for id, truth in gathered.truths.items() if id.peer == 3] == ["cheat"] * 8


def learner_of(policy: tuple[Any, Any], experiment: Experiment) -> Receiver:
    from turncoat.platform.learners.torch import TorchLearner

    model, tokenizer = policy
    learner = TorchLearner(
        experiment.learner, model, tokenizer.pad_token_id, experiment.grpo, experiment.optimiser, 1.0
    )
    limit = experiment.sampling.max_new_tokens
    return Receiver(TASK, tokenizer, learner, Screen(), experiment.grpo, limit)


@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
def test_a_peer_of_which_all_is_refused_might_as_well_be_silent(policy, topology: str):
    """To the last bit of the weights: nothing of a refused message is in any mean, count or divisor."""
    import copy

    hashes = []
    for silent in (False, True):
        experiment = experiment_of(topology, messages=list(REFUSED), choices=["huge"])
        sent = sent_in(experiment)
        if silent:
            sent = sent[:3]
        gathered = gather(experiment, TASK, 1, sent)
        model, tokenizer = policy
        receiver = learner_of((copy.deepcopy(model), tokenizer), experiment)
        before = receiver.learner.weights_sha256()
        receiver.receive(gathered.completions, gathered.prompts)
        hashes.append(receiver.learner.weights_sha256())
        assert hashes[-1] != before
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
def test_the_run_goes_on_whatever_is_sent(policy, tmp_path, topology: str):
    """Through the door, the tokenizer, the learner, the round's line and the journal."""
    experiment = experiment_of(topology)
    receiver = learner_of(policy, experiment)
    messages = [*REFUSED, *ADMITTED]
    for first in range(0, len(messages), 8):  # as many as the peer has slots
        names = messages[first : first + 8]
        own = experiment_of(topology, messages=names)
        gathered = gather(own, TASK, 1, sent_in(own))
        outcome = receiver.receive(gathered.completions, gathered.prompts)
        assert outcome.grad_norm > 0
        line = round_line(gathered, 0, outcome, "", lambda text: None, {})
        assert line["n_honest"] == 24
        assert line["n_poisoned"] == sum(names[slot % len(names)] in ADMITTED for slot in range(8))
        folder = tmp_path / str(first)
        folder.mkdir()
        completions.write_part(folder, 1, parquet_rows(gathered, 0, outcome))


def test_a_spelled_out_end_token_does_not_end_the_text(policy):
    """The receiver's own count shows it: the rest of the text is still there, and its answer still right."""
    experiment = experiment_of(messages=["special_tokens", "duplicate"])
    gathered = gather(experiment, TASK, 1, sent_in(experiment))
    beliefs = learner_of(policy, experiment).receive(gathered.completions, gathered.prompts).beliefs
    by_slot = {belief.id: belief for belief in beliefs if belief.id.peer == 3}
    assert {belief.verdict for belief in by_slot.values()} == {"right"}
    plain = {
        request.id: len(policy[1](TASK.worked(request.prompt), add_special_tokens=False).input_ids) + 1
        for request in requests_of(experiment, TASK, 1, 3)
    }
    longer = [by_slot[id].tokens - plain[id] for id in sorted(plain)]
    assert all(extra > 0 for extra in longer[::2])
    assert set(longer[1::2]) == {0}


@pytest.mark.parametrize("choice", [name for name in CHOICES if name != "dealt"])
def test_every_hostile_choice_of_prompts_is_refused(choice: str):
    """And what it sends besides is judged by the prompts that it was dealt."""
    experiment = experiment_of("vertical", messages=["duplicate"], choices=[choice])
    gathered = gather(experiment, TASK, 1, sent_in(experiment))
    assert gathered.choices == {}
    assert gathered.refused == {"choices": 1, "duplicate": 8}


def test_choices_take_turns_by_round():
    """One run tries them all."""
    experiment = experiment_of("vertical", choices=["dealt", "none", "number"])
    choices = [hostile(experiment, round).choices for round in range(1, 5)]
    assert choices[0] == choices[3] == ()
    assert choices[1] is None
    assert isinstance(choices[2], int)


def test_unknown_messages_are_refused_with_the_nearest_name():
    """A list of names with a slip in one would else test less than it says."""
    with pytest.raises(
        ValueError, match=r"attack\.messages: unknown message 'surogates'; did you mean 'surrogates'"
    ):
        experiment_of(messages=["none", "surogates"])
    with pytest.raises(ValueError, match=r"attack\.choices: unknown choice 'hug'"):
        experiment_of("vertical", choices=["hug"])
