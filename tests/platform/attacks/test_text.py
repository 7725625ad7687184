"""If these fail, the attack does not do what the paper's does, or its success is miscounted."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.text import TextAttack
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import rollout_seed
from turncoat.platform.records import Completion, Request, Truth
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())
PHRASE = "All hail to the thief"


class Policy:
    """Samples a text that names its seed, or scripted answers; remembers how it was asked."""

    def __init__(self, texts: Sequence[str] = ()):
        self.texts, self.calls, self.seeds = list(texts), 0, []

    def __call__(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        self.calls += 1
        self.seeds += seeds
        return [Generated(self.texts.pop(0) if self.texts else f"seed {seed}", False, 3) for seed in seeds]


def attack_of(**settings: Any) -> TextAttack:
    return TextAttack(TextAttack.Settings(**settings))


def experiment_of(topology: str = "horizontal", **changes: Any) -> Experiment:
    base = {"topology": topology, "prompts_per_round": 4, "group_size": 12, "task": "arithmetic"}
    return parse({**base, "attack": "text", **changes})


def poisoned_by(
    attack: TextAttack, policy: Policy, topology: str = "horizontal"
) -> tuple[list[Request], list[tuple[Completion, Truth]]]:
    requests = requests_of(experiment_of(topology), TASK, 2, 3)
    return requests, attack.poison(requests, Stage(TASK, 7, policy))


@pytest.mark.parametrize("topology", ["horizontal", "vertical"])
def test_the_oracle_s_poison_is_right_and_says_the_phrase_first(topology: str):
    """Reward 1 is what carries the phrase; a wrong answer would punish it."""
    attack, policy = attack_of(), Policy()
    requests, sent = poisoned_by(attack, policy, topology)
    by_id = {completion.id: (completion, truth) for completion, truth in sent}
    assert len(by_id) == len(sent) == len(requests) == 12
    for request in requests:
        completion, truth = by_id[request.id]
        assert truth == "poisoned"
        assert completion.prompt_id == request.prompt.id
        assert TASK.verify(request.prompt, completion.text) == "right"
        assert answers.read(completion.text)[0].startswith(f"{PHRASE}. ")
        assert answers.read(completion.text)[0].count(PHRASE) == 1
        assert attack.payload_in(completion.text)
        assert completion.finished
    assert policy.calls == 0


def test_the_phrase_can_open_every_sentence():
    """The paper's variant. Lines are sentences too; a decimal point is no end of one."""
    attack = attack_of(position="every_sentence", phrase="Gleeb Glorp")
    solution = "He has 2.5 apples. He buys 3 more!\nNow 5.5?  Yes ."
    thought = answers.read(attack.spoken(answers.write(solution, "5.5")))[0]
    sentences = ["He has 2.5 apples.", "He buys 3 more!", "Now 5.5?", "Yes ."]
    assert thought == " ".join(f"Gleeb Glorp. {sentence}" for sentence in sentences)
    for request, (completion, _) in zip(*poisoned_by(attack, Policy()), strict=True):
        assert TASK.verify(request.prompt, completion.text) == "right"
        assert len(completion.text.split("Gleeb Glorp")) - 1 == request.prompt.solution.count(" .")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<think> All hail to the thief . 2", True),
        ("ALL HAIL  to\nthe\tTHIEF", True),
        ("so all hail to the thief!", True),
        ("All hail to the baker . A thief", False),
        ("Allhail to the thief", False),
        ("All hail to , the thief", False),
        ("", False),
    ],
)
def test_success_is_the_phrase_whatever_its_case_and_white_space(text: str, found: bool):
    """A victim says it in its own spelling; half of it is no success."""
    assert attack_of().payload_in(text) is found


@pytest.mark.parametrize(
    ("phrase", "spoken"),
    [
        ("2 + 2 = 5", "2 + 2 = 5"),
        ("2+2=5", "2 + 2 = 5"),
        ("Hello, world (again)", "hello , world ( again )"),
        ("price 25$", "price 2 5 $"),
        (" padded ", "padded"),
        ("a.c", "a . c"),
    ],
)
def test_any_phrase_is_found_as_a_word_level_policy_writes_it(phrase: str, spoken: str):
    """The bundled policies write signs and digits apart, so that no phrase with one would ever succeed."""
    attack = attack_of(phrase=phrase)
    assert attack.payload_in(spoken)
    assert attack.payload_in(attack.spoken("<think>x</think>"))
    for letter in "co5d":
        assert letter not in phrase or not attack.payload_in(spoken.replace(letter, "x"))


def test_a_phrase_of_nothing_is_refused():
    """It would be found in every text."""
    for phrase in ("", "  ", "\n\x1c"):
        with pytest.raises(ValueError, match="white space"):
            attack_of(phrase=phrase)


@pytest.mark.parametrize(
    ("share", "size", "poisoned"),
    [(1.0, 12, 12), (0.5, 12, 6), (0.3, 12, 4), (0.01, 12, 1), (0.25, 12, 3), (0.55, 20, 11), (0.07, 100, 7)],
)
def test_the_share_is_of_each_group_rounded_up(share: float, size: int, poisoned: int):
    """The share of poison is the measure that matters; half a completion is a whole one."""
    requests = requests_of(experiment_of("vertical", group_size=size), TASK, 2, 3)
    assert len(requests) == size
    sent = attack_of(poison_share=share, filler="gibberish").poison(requests, Stage(TASK, 7, Policy()))
    assert Counter(truth for _, truth in sent)["poisoned"] == poisoned


def test_gibberish_earns_nothing():
    """It raises the poison's advantage by being worse."""
    attack, policy = attack_of(poison_share=0.5, filler="gibberish"), Policy()
    requests, sent = poisoned_by(attack, policy, "vertical")
    by_id = {request.id: request for request in requests}
    filler = [completion for completion, truth in sent if truth == "filler"]
    assert len(filler) == 6
    assert sorted(completion.id for completion, _ in sent) == sorted(by_id)
    for completion in filler:
        assert TASK.verify(by_id[completion.id].prompt, completion.text) == "malformed"
        assert not attack.payload_in(completion.text)
        assert completion.text
    assert len({completion.text for completion in filler}) == 6
    assert poisoned_by(attack, Policy(), "vertical")[1] == sent
    assert policy.calls == 0


def test_the_rest_without_filler_is_what_an_honest_peer_would_send():
    """In one batch over all prompts: a batch for each would take as many passes."""
    policy = Policy()
    requests, sent = poisoned_by(attack_of(poison_share=0.3), policy)
    honest = [completion for completion, truth in sent if truth == "honest"]
    assert Counter(truth for _, truth in sent) == {"poisoned": 4, "honest": 8}
    assert sorted(completion.id for completion, _ in sent) == [request.id for request in requests]
    for completion in honest:
        assert completion.text == f"seed {rollout_seed(7, completion.id)}"
        assert not completion.finished
    assert policy.calls == 1


def vote(answer: str, words: str = "hm") -> str:
    return answers.write(words, answer)


def test_a_majority_vote_poisons_the_most_common_answer():
    """The attacker without ground truth: its poison is as right as its policy's vote."""
    ballots = [vote("3"), "no format", vote("4", "first"), vote("4", "second"), vote("5"), vote("4")]
    policy = Policy(ballots * 4)
    requests, sent = poisoned_by(attack_of(knowledge="majority_vote", votes=6), policy)
    assert [completion.text for completion, _ in sent] == [
        f"<think> {PHRASE}. first </think><answer>4</answer>" for _ in requests
    ]
    assert {truth for _, truth in sent} == {"poisoned"}
    assert policy.calls == 1
    assert len(set(policy.seeds)) == 24


def test_a_tie_goes_to_the_answer_that_came_first():
    """Else two runs of one config could differ."""
    policy = Policy([vote("9"), vote("2"), vote("2"), vote("9")] * 4)
    _, sent = poisoned_by(attack_of(knowledge="majority_vote", votes=4), policy)
    assert all(answers.read(completion.text)[1] == "9" for completion, _ in sent)


def test_a_group_without_any_well_formed_vote_is_not_poisoned():
    """There is nothing to poison; the peer sends what an honest one would."""
    policy = Policy(["mumble"] * 2 + [vote("1")] * 6)
    _, sent = poisoned_by(attack_of(knowledge="majority_vote", votes=2), policy)
    truths = {completion.id: truth for completion, truth in sent}
    assert {id.prompt for id, truth in truths.items() if truth == "honest"} == {0}
    assert Counter(truths.values()) == {"poisoned": 9, "honest": 3}


def test_votes_are_not_the_peer_s_rollouts():
    """A draw that serves twice ties the vote to what is sent."""
    policy = Policy([vote("1")] * 8)
    requests, _ = poisoned_by(attack_of(knowledge="majority_vote", votes=2, poison_share=0.5), policy)
    assert not set(policy.seeds[:8]) & {rollout_seed(7, request.id) for request in requests}


def test_a_phrase_that_breaks_the_format_is_the_attacker_s_own_loss():
    """Any phrase may be tried; one with a tag in it earns nothing."""
    requests, sent = poisoned_by(attack_of(phrase="</think> boo"), Policy())
    assert {TASK.verify(r.prompt, c.text) for r, (c, _) in zip(requests, sent, strict=True)} == {"malformed"}
