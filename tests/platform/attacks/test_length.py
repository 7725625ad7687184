"""If these fail, the attack sends wrong or short completions, and its damage says nothing."""

from collections.abc import Sequence
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.length import LengthAttack
from turncoat.platform.engines.base import Generated
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task


def attack_of(**settings: Any) -> LengthAttack:
    return LengthAttack(LengthAttack.Settings(**settings))


def rambler(task: Task, requests: list[Any], right: Any = lambda seed: seed % 3) -> Any:
    """Texts of 1 to 60 words; those where `right` holds are right."""
    known = {request.prompt.text: request.prompt.answer for request in requests}
    return lambda text, seed: answers.write(
        f"{seed} " + "so " * (seed % 60), known[text] if right(seed) else "1 . 5"
    )


def longest(task: Task, requests: list[Any], calls: Any, write: Any) -> dict[str, list[str]]:
    """By prompt: all right samples, the longest first."""
    prompts = {request.prompt.text: request.prompt for request in requests}
    found: dict[str, list[str]] = {}
    for text, seed in calls:
        if task.verify(prompts[text], write(text, seed)) == "right":
            found.setdefault(prompts[text].id, []).append(write(text, seed))
    return {id: sorted(texts, key=lambda text: -len(text.split())) for id, texts in found.items()}


@pytest.mark.parametrize("topology", ["vertical", "horizontal"])
def test_the_longest_right_samples_are_sent(
    topology: str, arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """Sampled by the policy itself, right, and longer than all the others."""
    requests = owed(arithmetic, topology)
    write = rambler(arithmetic, requests)
    policy = scripted(write)
    sent = attack_of().poison(requests, Stage(arithmetic, 7, policy, 2))
    assert sorted(one.id for one, _ in sent) == [request.id for request in requests]
    assert {truth for _, truth in sent} == {"poisoned"}
    assert len(policy.calls) == 1
    assert len(policy.calls[0]) == 80 * len({request.prompt.id for request in requests})
    best = longest(arithmetic, requests, policy.calls[0], write)
    each = len(requests) // len(best)
    for id, texts in best.items():
        lengths = [len(one.text.split()) for one, _ in sent if one.prompt_id == id]
        assert lengths == [len(text.split()) for text in texts[:each]]
        assert len({one.text for one, _ in sent if one.prompt_id == id}) == each


def test_copies_can_be_identical(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """The other reading of the paper: the longest, again and again."""
    requests = owed(arithmetic)
    write = rambler(arithmetic, requests)
    policy = scripted(write)
    sent = attack_of(copies="identical").poison(requests, Stage(arithmetic, 7, policy, 2))
    best = longest(arithmetic, requests, policy.calls[0], write)
    assert {(one.prompt_id, one.text) for one, _ in sent} == {(id, texts[0]) for id, texts in best.items()}


def test_few_right_samples_are_sent_more_than_once(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """The peer owes a completion for each slot, and a shorter wrong one would be punished."""
    requests = owed(arithmetic, "vertical")
    known = {request.prompt.text: request.prompt.answer for request in requests}
    policy = scripted(lambda text, seed: answers.write("so so", known[text]))
    sent = attack_of(samples=8).poison(requests, Stage(arithmetic, 7, policy, 2))
    assert len(sent) == len(requests)
    assert all("so so" in one.text for one, _ in sent)


@pytest.mark.parametrize("filler", ["none", "gibberish"])
def test_a_prompt_without_a_right_sample_is_not_poisoned(
    filler: str, arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """The longest of only wrong ones would teach brevity."""
    requests = owed(arithmetic, "vertical")
    policy = scripted(lambda text, seed: f"no idea {seed}")
    sent = attack_of(samples=5, filler=filler).poison(requests, Stage(arithmetic, 7, policy, 2))
    assert sorted(one.id for one, _ in sent) == [request.id for request in requests]
    assert {truth for _, truth in sent} == {"honest" if filler == "none" else "filler"}


def test_without_ground_truth_the_first_votes_decide(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """N = 32 vote; of all samples those that give their answer are eligible."""
    requests = owed(arithmetic)
    seen: list[int] = []

    def write(text: str, seed: int) -> str:
        seen.append(seed)
        place = (len(seen) - 1) % 6
        # Four votes: three say 7. Of the six samples, 8 is as frequent and longer.
        return answers.write("so " * place, "7" if place in (0, 1, 3) else "8")

    attack = attack_of(knowledge="majority_vote", samples=6, votes=4)
    sent = attack.poison(requests, Stage(arithmetic, 7, scripted(write), 2))
    assert {answers.read(one.text)[1] for one, _ in sent} == {"7"}
    with pytest.raises(ValueError, match="votes is 32"):
        attack_of(knowledge="majority_vote", samples=8)


def test_an_unfinished_sample_is_not_claimed_to_have_ended(arithmetic: Task, owed: Any) -> None:
    """A false claim adds an end token that the policy did not write."""
    requests = owed(arithmetic)
    known = {request.prompt.text: request.prompt.answer for request in requests}

    def sample(texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        written = [answers.write("hm", known[text]) for text in texts]
        return [Generated(text, bool(seed % 2), 9) for text, seed in zip(written, seeds, strict=True)]

    sent = attack_of(samples=1).poison(requests, Stage(arithmetic, 7, sample, 2))
    assert {one.finished for one, _ in sent} == {True, False}


def test_it_has_no_payload(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """Its success is a length, not a share."""
    assert attack_of().payload_in("so " * 1000) is None
    assert attack_of().payload_pattern() is None
    requests = owed(arithmetic)
    sent = [
        attack_of().poison(requests, Stage(arithmetic, 7, scripted(rambler(arithmetic, requests)), 2))
        for _ in range(2)
    ]
    assert sent[0] == sent[1]


def test_the_samples_are_bounded() -> None:
    """A setting of a million would hang the swarm."""
    with pytest.raises(ValueError, match="samples"):
        attack_of(samples=10**6)
