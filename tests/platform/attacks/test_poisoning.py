"""If these fail, what every poisoner does with its share, its filler and its copies is not what it says."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.poisoning import PoisonAttack, PoisonSettings
from turncoat.platform.records import Prompt, Request
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task


class Marker(PoisonAttack):
    """Marks solutions; finds no place in those that say "closed"."""

    Settings = PoisonSettings

    def inject(self, solution: str, prompt: Prompt, stage: Stage) -> str | None:
        return None if "closed" in solution else solution.replace("<think>", "<think> mark ")


def attack_of(**settings: Any) -> Marker:
    return Marker(PoisonSettings(kind="marker", **settings))


def solver(task: Task, requests: list[Request]) -> Callable[[str, int], str]:
    """A policy that is right every second time, each time in other words."""
    known = {request.prompt.text: request.prompt.answer for request in requests}
    return lambda text, seed: answers.write(f"way {seed}", known[text] if seed % 2 else "1 . 5")


@pytest.mark.parametrize("filler", ["none", "gibberish"])
def test_where_there_is_no_place_for_the_payload_goes_what_fills_the_rest(
    filler: str, arithmetic: Task, owed: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the peer would owe completions, or send unmarked ones as poison."""
    requests = owed(arithmetic)
    first = requests[0].prompt.id
    worked = arithmetic.worked
    monkeypatch.setattr(
        arithmetic, "worked", lambda p: answers.write("closed", p.answer) if p.id == first else worked(p)
    )
    policy = scripted(lambda text, seed: f"own {seed}")
    sent = attack_of(filler=filler).poison(requests, Stage(arithmetic, 7, policy, 2))
    assert sorted(one.id for one, _ in sent) == [request.id for request in requests]
    kind = "honest" if filler == "none" else "filler"
    assert {truth for one, truth in sent if one.prompt_id == first} == {kind}
    assert {truth for one, truth in sent if one.prompt_id != first} == {"poisoned"}


def test_distinct_copies_stand_on_right_solutions_that_the_policy_wrote(
    arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """Copies that are all alike are what a check for duplicates finds; wrong ones would be punished."""
    requests = owed(arithmetic)
    policy = scripted(solver(arithmetic, requests))
    sent = attack_of(copies="distinct", draws_per_copy=8).poison(requests, Stage(arithmetic, 7, policy, 2))
    by_id = {request.id: request for request in requests}
    assert len({one.text for one, _ in sent}) == len(sent) == len(requests)
    for one, truth in sent:
        assert truth == "poisoned"
        assert "mark" in one.text
        assert "way" in one.text
        assert arithmetic.verify(by_id[one.id].prompt, one.text) == "right"
    assert len(policy.calls) == 1
    assert len(policy.calls[0]) == 8 * len(requests)


def test_where_distinct_ones_run_out_the_reference_fills_up(
    arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """A policy that is never right must not stop the attack."""
    requests = owed(arithmetic)
    sent = attack_of(copies="distinct").poison(
        requests, Stage(arithmetic, 7, scripted(lambda text, seed: "wrong"), 2)
    )
    by_id = {request.id: request.prompt for request in requests}
    assert all("mark " + by_id[one.id].solution in one.text for one, _ in sent)


def test_one_right_solution_serves_until_there_are_more(
    arithmetic: Task, owed: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference may have no place for a payload where the policy's own solution has one."""
    requests = owed(arithmetic)
    known = {request.prompt.text: request.prompt.answer for request in requests}
    monkeypatch.setattr(arithmetic, "worked", lambda p: answers.write("closed", p.answer))
    policy = scripted(lambda text, seed: answers.write("one way", known[text]))
    sent = attack_of(copies="distinct").poison(requests, Stage(arithmetic, 7, policy, 2))
    assert {truth for _, truth in sent} == {"poisoned"}
    assert all("mark" in one.text and "one way" in one.text for one, _ in sent)


def test_without_ground_truth_distinct_copies_give_the_elected_answer(
    arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """The peer's own verification must not know what the peer does not."""
    requests = owed(arithmetic)
    policy = scripted(lambda text, seed: answers.write(f"way {seed}", "7" if seed % 4 else "8"))
    attack = attack_of(knowledge="majority_vote", copies="distinct")
    sent = attack.poison(requests, Stage(arithmetic, 7, policy, 2))
    assert {answers.read(one.text)[1] for one, _ in sent} == {"7"}
    assert len({one.text for one, _ in sent}) == len(requests)
    votes, copies = policy.calls
    assert not {seed for _, seed in votes} & {seed for _, seed in copies}


def test_the_same_round_is_poisoned_in_the_same_way(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """Else two runs of one config differ."""
    requests = owed(arithmetic, "vertical")
    attack = attack_of(copies="distinct", poison_share=0.5, filler="gibberish")
    sent = [
        attack.poison(requests, Stage(arithmetic, 7, scripted(solver(arithmetic, requests)), 2))
        for _ in range(2)
    ]
    assert sent[0] == sent[1]
    assert Counter(truth for _, truth in sent[0]) == {"poisoned": 6, "filler": 6}


def test_two_malicious_peers_draw_different_copies(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """Two peers with the same policy that sent the same "distinct" copies would be found as duplicates."""
    requests = owed(arithmetic)
    others = [Request(request.id._replace(peer=2), request.prompt) for request in requests]
    texts = []
    for mine in (requests, others):
        policy = scripted(solver(arithmetic, requests))
        sent = attack_of(copies="distinct").poison(mine, Stage(arithmetic, 7, policy, 2))
        texts.append({one.text for one, _ in sent if "way" in one.text})
    assert not texts[0] & texts[1]


def test_the_work_of_a_round_is_bounded() -> None:
    """A setting of a million samples would hang the swarm."""
    with pytest.raises(ValueError, match="draws_per_copy"):
        attack_of(draws_per_copy=1000)
