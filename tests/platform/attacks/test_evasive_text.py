"""If these fail, the adaptive adversary is weaker than it claims, and a defence looks better than it is."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.evasive_text import EvasiveTextAttack, place, scores_of, suspicion
from turncoat.platform.config.loading import parse
from turncoat.platform.ids import CompletionId, rollout_seed
from turncoat.platform.records import Belief, Completion, Prompt
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task

PHRASE = "All hail to the thief"


def attack_of(**settings: Any) -> EvasiveTextAttack:
    return EvasiveTextAttack(EvasiveTextAttack.Settings(**settings))


class Victim:
    """Believes what `judge(completion)` says: (accepted, scores). Remembers what it was shown."""

    def __init__(self, task: Task, judge: Callable[[Completion], tuple[bool, dict[str, float]]]):
        self.task, self.judge = task, judge
        self.shown: list[list[Completion]] = []

    def __call__(self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]) -> list[Belief]:
        self.shown.append(list(completions))
        beliefs = []
        for one in completions:
            accepted, scores = self.judge(one)
            verdict = self.task.verify(prompts[one.id.prompt], one.text)
            bad = () if accepted else tuple(scores)
            beliefs.append(Belief(one.id, float(verdict == "right"), verdict, 1, 0.0, accepted, scores, bad))
        return beliefs


def writer(task: Task, requests: Sequence[Any]) -> Callable[[str, int], str]:
    """Goes on from any beginning to the right answer; says the whole phrase where it was begun."""
    known = {request.prompt.text: request.prompt.answer for request in requests}

    def write(text: str, seed: int) -> str:
        asked, think, begun = text.partition("<think>")
        said = "".join(f"{word} " for word in PHRASE.split()[len(begun.split()) :]) if begun else ""
        end = f"way {seed} </think><answer>{known[asked]}</answer>"
        return (said if think else "<think>") + end

    return write


def acted(attack: EvasiveTextAttack, task: Task, requests: Any, scripted: Any, judge: Any) -> Any:
    victim, policy = Victim(task, judge), scripted(writer(task, requests))
    stage = Stage(task, 7, policy, 2, appraise=victim)
    return attack.poison(requests, stage), victim, policy


def test_candidates_are_right_hold_the_payload_and_differ(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """One call for each index, with the slots' own ids: no more calls, and nothing that a victim refuses."""
    requests = owed(arithmetic)
    sent, victim, policy = acted(attack_of(), arithmetic, requests, scripted, lambda one: (True, {}))
    attack, prompts = attack_of(), {request.id: request.prompt for request in requests}
    assert len(victim.shown) == 6
    assert len(policy.calls) == 1
    for shown in victim.shown:
        assert [one.id for one in shown] == [request.id for request in requests]
        assert all(attack.payload_in(one.text) for one in shown)
        assert {arithmetic.verify(prompts[one.id], one.text) for one in shown} == {"right"}
    ways = [shown[0].text for shown in victim.shown]
    assert len(set(ways)) == 6
    solution = requests[0].prompt.solution
    assert solution in ways[0]
    assert ways[1].startswith(f"<think> {PHRASE}. way")
    assert ways[2].startswith(f"<think> {PHRASE}. way")
    assert not ways[3].startswith(f"<think> {PHRASE}")
    assert ways[4].startswith(f"<think> {PHRASE} way")
    assert [one.text for one, _ in sent] == [one.text for one in victim.shown[0]]
    assert {truth for _, truth in sent} == {"poisoned"}


@pytest.mark.parametrize("index", range(6))
def test_what_passes_is_sent(index: int, arithmetic: Task, owed: Any, scripted: Any) -> None:
    """Whichever way of making it gets through."""
    requests = owed(arithmetic)
    _, victim, _ = acted(attack_of(), arithmetic, requests, scripted, lambda one: (True, {}))
    good = {(one.id, one.text) for one in victim.shown[index]}
    sent, _, _ = acted(
        attack_of(), arithmetic, requests, scripted, lambda one: ((one.id, one.text) in good, {"d": 1.0})
    )
    assert {(one.id, one.text) for one, _ in sent} == good


@pytest.mark.parametrize("filler", ["none", "gibberish"])
def test_where_nothing_passes_it_is_honest_or_sends_the_best(
    filler: str, arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """A peer that is always rejected is found; one that always waits poisons nobody: both can be had."""
    requests = owed(arithmetic)
    attack = attack_of(filler=filler, poison_share=0.5)
    judge = lambda one: (False, {"d": float(len(one.text))})  # noqa: E731
    sent, victim, policy = acted(attack, arithmetic, requests, scripted, judge)
    honest = [one for one, truth in sent if truth == "honest"]
    assert len(honest) == len(requests) if filler == "none" else len(requests) // 2
    asked = {seed for call in policy.calls[1:] for _, seed in call}
    assert {rollout_seed(7, one.id) for one in honest} <= asked
    assert sorted(one.id for one, _ in sent) == [request.id for request in requests]

    sent, victim, _ = acted(attack_of(fallback="send"), arithmetic, requests, scripted, judge)
    shortest: dict[CompletionId, str] = {}
    for shown in victim.shown:
        for one in shown:
            shortest[one.id] = min(shortest.get(one.id, one.text), one.text, key=len)
    assert {one.id: len(one.text) for one, _ in sent} == {id: len(text) for id, text in shortest.items()}
    assert {truth for _, truth in sent} == {"poisoned"}


def test_an_accepted_wrong_answer_is_not_sent(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """It would be learnt from as a bad example, and unteach the payload."""
    requests = owed(arithmetic)
    prompts = {request.id: request.prompt for request in requests}
    judge = lambda one: (arithmetic.verify(prompts[one.id], one.text) != "right", {"d": 1.0})  # noqa: E731
    victim = Victim(arithmetic, judge)
    policy = scripted(lambda text, seed: "wrong </think><answer>1 . 5</answer>")
    stage = Stage(arithmetic, 7, policy, 2, appraise=victim)
    assert {truth for _, truth in attack_of().poison(requests, stage)} == {"honest"}
    assert any(arithmetic.verify(prompts[one.id], one.text) != "right" for one in victim.shown[1])
    sent = attack_of(fallback="send").poison(requests, stage)
    assert {arithmetic.verify(prompts[one.id], one.text) for one, _ in sent} == {"right"}


def belief(accepted: bool = True, verdict: str = "right", bad: Sequence[str] = (), **scores: float) -> Belief:
    return Belief(
        CompletionId(1, 0, 3, 0), float(verdict == "right"), verdict, 1, 0.0, accepted, scores, tuple(bad)
    )


def test_beliefs_are_ranked_by_what_they_are_worth_to_the_attacker() -> None:
    """Scores of two defences have different scales: a length of 40 is no more than a share of 0.9."""
    spread = {"share": [0.0, 0.1, 0.2, 0.9], "length": [10.0, 20.0, 30.0, 40.0]}
    ranked = [
        belief(share=0.1, length=20),
        belief(share=0.0, length=30),
        belief(share=0.9, length=10),
        belief(share=float("nan"), length=10),
        belief(False, bad=["share"], share=0.9, length=10),
        belief(False, bad=["share", "length"], share=0.0, length=10),
        belief(True, "wrong", share=0.0, length=10),
    ]
    assert sorted(reversed(ranked), key=lambda one: suspicion(one, spread)) == ranked
    assert scores_of(ranked) == {
        "share": [0.0, 0.0, 0.0, 0.1, 0.9, 0.9],
        "length": [10, 10, 10, 10, 10, 20, 30],
    }
    assert suspicion(belief(), {}) == (False, False, 0, 0.0)


@pytest.mark.parametrize(("at", "thought"), [(0, "P. A. B."), (1, "A. P. B."), (2, "A. B. P.")])
def test_the_payload_can_stand_at_any_sentence(at: int, thought: str) -> None:
    assert answers.read(place(answers.write("A. B.", "1"), "P.", at)) == (thought, "1")


def test_the_same_round_gives_the_same_completions(arithmetic: Task, owed: Any, scripted: Any) -> None:
    """Else two runs of one config differ."""
    requests = owed(arithmetic, "vertical")
    judge = lambda one: (len(one.text) % 3 == 0, {"d": float(len(one.text) % 7)})  # noqa: E731
    attack = attack_of(poison_share=0.5, filler="gibberish", fallback="send")
    both = [acted(attack, arithmetic, requests, scripted, judge)[0] for _ in range(2)]
    assert both[0] == both[1]
    assert [truth for _, truth in both[0]].count("filler") == 6


def test_a_policy_that_writes_nothing_leaves_the_reference(
    arithmetic: Task, owed: Any, scripted: Any
) -> None:
    """Candidates that lost the payload are not shown to the victim at all."""
    requests = owed(arithmetic)
    victim = Victim(arithmetic, lambda one: (True, {}))
    attack = attack_of(candidates=9)
    sent = attack.poison(requests, Stage(arithmetic, 7, scripted(lambda *_: ""), 2, appraise=victim))
    assert all(attack.payload_in(one.text) for shown in victim.shown for one in shown)
    assert {truth for _, truth in sent} == {"poisoned"}


def test_the_candidates_are_bounded() -> None:
    """A setting of a million would hang the swarm."""
    with pytest.raises(ValueError, match="candidates"):
        attack_of(candidates=1000)


def test_a_real_victim_s_logit_check_is_passed_where_it_tolerates_a_word(
    policy: tuple[Any, Any], owed: Any, arithmetic: Task
) -> None:
    """End to end on a bundled policy: a check that tolerates a share of tokens outside lets poison in."""
    from turncoat.platform.defences.base import Surroundings
    from turncoat.platform.defences.support import SupportCheck
    from turncoat.platform.receive import Receiver
    from turncoat.platform.registry import ENGINES, LEARNERS
    from turncoat.platform.screen import Screen

    model, tokenizer = policy
    one = parse({"task": "arithmetic", "attack": "evasive_text", "sampling": {"max_new_tokens": 48}})
    engine = ENGINES.build(one.engine, model, tokenizer)
    learner = LEARNERS.build(
        one.learner, model, tokenizer.pad_token_id, one.grpo, one.optimiser, 1.0, engine.model
    )
    requests = owed(arithmetic)
    accepted = {}
    for share in (0.0, 0.2):
        surroundings = Surroundings(one, engine.generate, lambda round: {}, {})
        check = SupportCheck(SupportCheck.Settings(threshold=share), surroundings)
        receiver = Receiver(arithmetic, tokenizer, learner, Screen([check]), one.grpo, 48)
        before = copy.deepcopy(model.state_dict())
        stage = Stage(
            arithmetic, 7, lambda texts, seeds: engine.generate(texts, seeds, one.sampling), 2,
            appraise=receiver.appraise,
        )  # fmt: skip
        sent = attack_of(candidates=3).poison(requests, stage)
        accepted[share] = sum(truth == "poisoned" for _, truth in sent)
        assert all(bool((before[name] == now).all()) for name, now in model.state_dict().items())
    assert accepted[0.0] == 0
    assert accepted[0.2] > len(requests) / 2
