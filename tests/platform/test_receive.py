"""If these fail, an honest peer believes what senders claim, learns from what it rejected, or learns
something else."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from turncoat.platform.config.experiment import Grpo, Optimiser
from turncoat.platform.config.loading import parse
from turncoat.platform.decide import Decision
from turncoat.platform.defences.base import Batch, Defence, DefenceSettings, Surroundings
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence, Row
from turncoat.platform.learners.settings import TorchSettings
from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.receive import Receiver
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.reputation import Reputation
from turncoat.platform.screen import Screen
from turncoat.platform.tasks.base import Task, TaskSettings
from turncoat.platform.tasks.wording import vocabulary

TOKENIZER = word_tokenizer(vocabulary())
LIMIT = 8


class WordTask(Task):
    """The verdict is the text's first word."""

    def train(self, index: int) -> Prompt:
        raise AssertionError

    held_out = train

    def verify(self, prompt: Prompt, text: str) -> Any:
        first = (text.split() or ["malformed"])[0]
        return {"1": "right", "0": "wrong", "9": "error", "8": "timeout"}.get(first, "malformed")


class WordCheck(Defence):
    """Rejects texts that hold "thief"; notes and counts each that holds "queen", and fails on "mad"."""

    class Settings(DefenceSettings):
        kind: Literal["word"] = "word"

    settings: Settings

    def score(self, batch: Batch) -> Any:
        assert len(batch.evidence) == 0
        assert len(batch) == len(batch.prompts) == len(batch.verdicts) == len(batch.rewards)
        for one in batch.completions:
            if "queen" in one.text:
                self.counts["queens"] += 1
                self.notes[one.id] = f"queen in {one.id}"
        return np.array(
            [np.nan if "mad" in one.text else float("thief" in one.text) for one in batch.completions]
        )


class RankCheck(Defence):
    """The mean rank; sees evidence and nothing else."""

    class Settings(DefenceSettings):
        kind: Literal["rank"] = "rank"

    settings: Settings
    needs_tokens = True

    def score(self, batch: Batch) -> Any:
        assert len(batch) == len(batch.evidence)
        return np.array([one.ranks.mean() if len(one.ranks) else 0.0 for one in batch.evidence])


class FakeLearner:
    """A part per group; writes down what it is asked. A token's rank is its id, if it is "thief", else 0."""

    def __init__(self) -> None:
        self.forwards: list[list[Row]] = []
        self.ranked: list[bool] = []
        self.backwards: list[tuple[list[CompletionId], list[float], list[float]]] = []
        self.divisors: list[float] = []

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        return [[r for r in rows if r.id.prompt == group] for group in sorted({r.id.prompt for r in rows})]

    def forward(self, rows: Sequence[Row], ranks: bool) -> Any:
        self.forwards.append(list(rows))
        self.ranked.append(ranks)
        thief = TOKENIZER.convert_tokens_to_ids("thief")
        self.evidence = [
            Evidence(
                np.zeros(len(r.completion), np.float32),
                np.array([t * (t == thief) for t in r.completion], np.int32),
            )
            for r in rows
        ]
        return self

    def backward(self, forward: Any, advantages: Any, weights: Any) -> tuple[float, float]:
        self.backwards.append(
            ([r.id for r in self.forwards[-1]], list(advantages.tolist()), list(weights.tolist()))
        )
        return -1.0, 0.0

    def step(self, divisor: float) -> float:
        self.divisors.append(divisor)
        return 0.5


def round_of(*groups: str) -> list[Completion]:
    """Groups of completions, a slash between two of them."""
    return [
        Completion(CompletionId(1, q, s, 0), f"row/{q}", text)
        for q, group in enumerate(groups)
        for s, text in enumerate(group.split("/"))
    ]


PROMPTS = {q: Prompt(f"row/{q}", " ".join(["How many apples ?"] * (q % 3 + 1)), "so", "1") for q in range(6)}


def nothing(*_: Any) -> Any:
    raise AssertionError("these defences ask for nothing")


AROUND = Surroundings(parse({"task": "arithmetic", "attack": "text"}), nothing, nothing, {})


def screen_of(
    *defences: str,
    threshold: float = 0.0,
    decision: Decision | None = None,
    reputation: Reputation | None = None,
    **settings: Any,
) -> Screen:
    """threshold: of the defence "rank". settings: of both."""
    known: dict[str, Defence] = {
        "word": WordCheck(WordCheck.Settings(**settings), AROUND),
        "rank": RankCheck(RankCheck.Settings(threshold=threshold, **settings), AROUND),
    }
    return Screen([known[name] for name in defences], decision, reputation)


def with_screen(learner: Any, screen: Screen, **grpo: Any) -> Receiver:
    return Receiver(WordTask(TaskSettings(kind="word")), TOKENIZER, learner, screen, Grpo(**grpo), LIMIT)


def receiver_of(learner: Any, *defences: str, threshold: float = 0.0, **grpo: Any) -> Receiver:
    return with_screen(learner, screen_of(*defences, threshold=threshold), **grpo)


def torch_learner(model: Any, tokens_per_batch: int = 10**6, kind: str = "sgd", **grpo: Any) -> Any:
    from turncoat.platform.learners.torch import TorchLearner

    recipe = Optimiser(kind=kind, lr=0.01, beta1=0.0, warmup_rounds=0, clip_norm=None)
    return TorchLearner(
        TorchSettings(tokens_per_batch=tokens_per_batch), model, 0, Grpo(**grpo), recipe, temperature=1.0
    )


def test_groups_without_signal_cost_no_pass():
    """Most groups of an easy or a hopeless task are such groups."""
    learner = FakeLearner()
    outcome = receiver_of(learner).receive(round_of("0/0/0", "1/0/0", "1/1/1"), PROMPTS)
    assert [{row.id.prompt for row in rows} for rows in learner.forwards] == [{1}]
    assert learner.ranked == [False]
    assert outcome.groups_with_signal == 1
    # They belong to the mean all the same.
    assert learner.divisors == [3.0]


def test_a_defence_that_needs_tokens_sees_every_completion():
    """Scores of all completions are logged, so that another threshold needs no new run."""
    learner = FakeLearner()
    outcome = receiver_of(learner, "rank").receive(round_of("0/0/0", "1/0 thief/0", "1/1/1"), PROMPTS)
    assert len(learner.forwards) == 3
    assert learner.ranked == [True] * 3
    assert len(learner.backwards) == 1
    assert [belief.scores["rank"] > 0 for belief in outcome.beliefs] == [False] * 4 + [True] + [False] * 4


def test_a_kl_term_leaves_no_group_out():
    """The penalty holds for completions without advantage too."""
    learner = FakeLearner()
    receiver_of(learner, kl_beta=0.1).receive(round_of("0/0", "1/1"), PROMPTS)
    assert len(learner.forwards) == len(learner.backwards) == 2
    assert learner.divisors == [2.0]


@pytest.mark.parametrize("defence", ["word", "rank"])
def test_rejected_completions_leave_their_group_s_mean(defence: str):
    """A rejected poison must neither be learnt nor lower the honest completions' advantages."""
    learner = FakeLearner()
    outcome = receiver_of(learner, defence).receive(round_of("1 thief/1/0", "1/0/0"), PROMPTS)
    first, second = outcome.beliefs[:3], outcome.beliefs[3:]
    assert [belief.advantage for belief in first] == [0.0, 1.0, -1.0]
    assert [belief.accepted for belief in first] == [False, True, True]
    assert [belief.rejected_by for belief in first] == [(defence,), (), ()]
    assert [belief.reward for belief in first] == [1.0, 1.0, 0.0]
    assert sum(belief.advantage for belief in second) == pytest.approx(0)
    ids, gains, weights = learner.backwards[0]
    assert ids == [belief.id for belief in first]
    assert gains == [0.0, 1.0, -1.0]
    # Two accepted completions of two tokens, their end included: 1 / (G |a|), times the part's one group.
    assert weights == [0.0, 0.25, 0.25]


def test_a_group_that_loses_its_signal_to_a_defence_is_not_learnt():
    """What is left of it is equally good."""
    learner = FakeLearner()
    outcome = receiver_of(learner, "word").receive(round_of("1 thief/0/0"), PROMPTS)
    assert outcome.groups_with_signal == 0
    assert learner.forwards == learner.backwards == learner.divisors == []


@pytest.mark.parametrize("kind", ["word", "rank"])
def test_a_round_of_which_all_is_rejected_changes_nothing(llama, kind: str):
    """Not even momentum, or a warm-up, may move on nothing."""
    learner = torch_learner(llama(vocabulary=len(TOKENIZER)), kind="adam")
    receiver_of(learner).receive(round_of("1/0", "1/0 0"), PROMPTS)
    before = learner.weights_sha256()
    outcome = receiver_of(learner, kind, threshold=-1.0).receive(
        round_of("1 thief/0 thief", "0 thief/1 thief"), PROMPTS
    )
    assert not any(belief.accepted or belief.advantage for belief in outcome.beliefs)
    assert (outcome.loss, outcome.grad_norm, outcome.groups_with_signal) == (0.0, 0.0, 0)
    assert learner.weights_sha256() == before
    assert learner.updates == 1


def test_what_is_too_long_is_cut_and_earns_nothing():
    """A right answer behind a long payload would else reward tokens that no honest peer could have sent with
    it."""
    learner = FakeLearner()
    outcome = receiver_of(learner).receive(
        round_of(f"1{' 2' * (LIMIT - 1)}/1{' 2' * LIMIT}/1{' 2' * 500}/0"), PROMPTS
    )
    assert [belief.tokens for belief in outcome.beliefs] == [LIMIT] * 3 + [2]
    assert [belief.verdict for belief in outcome.beliefs] == ["right", "malformed", "malformed", "wrong"]
    one, two = TOKENIZER.convert_tokens_to_ids(["1", "2"])
    assert learner.forwards[0][2].completion == (one, *[two] * (LIMIT - 1))


def test_the_end_token_is_added_to_finished_texts_alone():
    """What ran out of length must not teach to stop there."""
    learner = FakeLearner()
    sent = round_of("1 2/0 2")
    sent[1] = Completion(sent[1].id, sent[1].prompt_id, sent[1].text, finished=False)
    receiver_of(learner).receive(sent, PROMPTS)
    end = TOKENIZER.eos_token_id
    assert [row.completion[-1] == end for row in learner.forwards[0]] == [True, False]
    assert [len(row.completion) for row in learner.forwards[0]] == [3, 2]


def test_spelled_out_control_tokens_are_not_smuggled_in():
    """A peer that could write an end token in mid-text would teach to stop there."""
    learner = FakeLearner()
    receiver_of(learner).receive(round_of("1 <eos> 2 <pad> 3/0 <pad>"), PROMPTS)
    one, two = (row.completion for row in learner.forwards[0])
    pad, end, unknown = TOKENIZER.pad_token_id, TOKENIZER.eos_token_id, TOKENIZER.unk_token_id
    assert pad not in one + two
    assert end not in one[:-1] + two[:-1]
    assert (one[1], one[3], two[1]) == (unknown, unknown, unknown)


def test_a_failure_of_the_verifier_is_counted_apart():
    """It says nothing about the completion: reward 0, and a verdict of its own."""
    outcome = receiver_of(FakeLearner()).receive(round_of("9/1/0/hm/8"), PROMPTS)
    verdicts = ["error", "right", "wrong", "malformed", "timeout"]
    assert [belief.verdict for belief in outcome.beliefs] == verdicts
    assert [belief.reward for belief in outcome.beliefs] == [0.0, 1.0, 0.0, 0.0, 0.0]


def test_length_is_shaped_by_the_receiver_s_own_count():
    """DAPO's punishment: over the last `overlong_buffer` tokens the reward falls by 1."""
    outcome = receiver_of(FakeLearner(), overlong_buffer=4).receive(
        round_of(f"1 2 2/1{' 2' * 5}/0{' 2' * 6}/1{' 2' * 99}"), PROMPTS
    )
    assert [belief.tokens for belief in outcome.beliefs] == [4, 7, 8, 8]
    assert [belief.reward for belief in outcome.beliefs] == [1.0, 0.25, -1.0, -1.0]


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "\x00", "ÿ́" * 50, "1" * 5000, "<think>" * 300])
@pytest.mark.parametrize("finished", [True, False])
def test_no_text_of_a_peer_crashes_a_receiver(llama, text: str, finished: bool):
    """One peer that can end the others' run has won."""
    learner = torch_learner(llama(vocabulary=len(TOKENIZER)))
    sent = [
        Completion(CompletionId(1, 0, 0, 0), "row/0", text, finished),
        *round_of("hm/1 1/0 0")[1:],
        Completion(CompletionId(1, 1, 0, 0), "row/1", text, finished),
        Completion(CompletionId(1, 1, 1, 0), "row/1", text, finished),
    ]
    outcome = receiver_of(learner, "word", "rank").receive(sent, PROMPTS)
    assert np.isfinite([outcome.loss, outcome.grad_norm]).all()
    assert [belief.id for belief in outcome.beliefs] == [one.id for one in sent]


def mixed_round() -> list[Completion]:
    """Six groups: with signal and without, short and long, some poisoned."""
    first = "1 2 3/0 2/0", "0/0/0 5 5 5", "1/1 thief/0 4 4 4 4"
    return round_of(*first, "1 2/1/1", "0 thief/1 3 3/0 3", "1/0 2 2 2 2 2/1 1")


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
@pytest.mark.parametrize(("defences", "kl_beta"), [((), 0.0), (("word",), 0.1), (("rank",), 0.0)])
def test_parts_add_up_to_the_whole_round(llama, loss: str, defences: tuple[str, ...], kl_beta: float):
    """How a round is cut is a matter of memory, and must not be one of results."""
    found = []
    for budget in (1, 20, 10**6):
        learner = torch_learner(llama(vocabulary=len(TOKENIZER)), budget, loss=loss, kl_beta=kl_beta)
        receiver = receiver_of(learner, *defences, threshold=105, loss=loss, kl_beta=kl_beta)
        receiver.receive(mixed_round(), PROMPTS)
        outcome = receiver.receive(mixed_round()[::-1], PROMPTS)
        weights = np.concatenate([p.detach().numpy().ravel() for p in learner.model.parameters()])
        found.append((outcome, weights))
    (whole, weights), *others = reversed(found)
    assert whole.groups_with_signal > 1
    assert any(belief.rejected_by for belief in whole.beliefs) == bool(defences)
    assert whole.grad_norm > 0
    assert (whole.kl > 0) == (kl_beta > 0)
    for outcome, other in others:
        np.testing.assert_allclose(other, weights, atol=2e-6)
        assert outcome.loss == pytest.approx(whole.loss, rel=1e-4, abs=1e-6)
        assert outcome.kl == pytest.approx(whole.kl, rel=1e-3)
        assert outcome.grad_norm == pytest.approx(whole.grad_norm, rel=1e-3)
        assert outcome.beliefs == whole.beliefs


def test_the_step_is_that_of_the_accepted_completions_alone(llama):
    """A filter in front of the learner, nothing more: as if the rejected had never been sent."""
    hashes = []
    for sent, defences in (
        (mixed_round(), ("word",)),
        ([one for one in mixed_round() if "thief" not in one.text], ()),
    ):
        learner = torch_learner(llama(vocabulary=len(TOKENIZER)))
        receiver_of(learner, *defences).receive(sent, PROMPTS)
        hashes.append([p.detach().numpy().ravel() for p in learner.model.parameters()])
    np.testing.assert_allclose(np.concatenate(hashes[0]), np.concatenate(hashes[1]), atol=1e-6)


@pytest.mark.parametrize("defences", [(), ("rank",)])
def test_the_order_of_arrival_does_not_matter(llama, defences: tuple[str, ...]):
    """Peers answer in any order; the same round must give the same bits."""
    found = []
    for order in (range(18), np.random.default_rng(0).permutation(18)):
        learner = torch_learner(llama(vocabulary=len(TOKENIZER)), 20)
        sent = mixed_round()
        receiver = receiver_of(learner, *defences, threshold=105)
        outcome = receiver.receive([sent[i] for i in order], PROMPTS)
        beliefs = sorted(outcome.beliefs, key=lambda belief: belief.id)
        found.append((outcome.grad_norm, learner.weights_sha256(), beliefs))
    assert found[0] == found[1]
    assert found[0][0] > 0


def test_passes_for_the_defence_alone_are_its_cost():
    """The cost of a defence is what a round without it would not have spent."""

    class Slow(FakeLearner):
        def forward(self, rows: Sequence[Row], ranks: bool) -> Any:
            time.sleep(0.03)
            return super().forward(rows, ranks)

    idle = receiver_of(Slow(), "rank").receive(round_of("0/0", "1/1"), PROMPTS)
    assert idle.seconds["score"] > 0.06 > idle.seconds["learn"]
    taught = receiver_of(Slow(), "rank").receive(round_of("0/1", "1/0"), PROMPTS)
    assert taught.seconds["learn"] > 0.06 > taught.seconds["score"]


def test_a_task_verifies_a_round_in_one_batch():
    """A sandbox runs some hundred programs at a time; and what is too long is not run at all."""

    calls = []

    class Batched(WordTask):
        def verify_all(self, pairs: Any) -> Any:
            calls.append(len(pairs))
            return super().verify_all(pairs)

    receiver = receiver_of(FakeLearner())
    receiver.task = Batched(TaskSettings(kind="word"))
    receiver.receive(round_of("1/0", f"1{' 2' * 500}/1/0"), PROMPTS)
    assert calls == [4]


@pytest.mark.parametrize("defence", ["word", "rank"])
def test_a_rejection_can_cost_the_reward_instead(defence: str):
    """The paper's judge: the completion stays, earns nothing, and its advantage is negative."""
    learner = FakeLearner()
    receiver = with_screen(learner, screen_of(defence, effect="zero_reward"))
    outcome = receiver.receive(round_of("1 thief/1/0"), PROMPTS)
    assert [belief.accepted for belief in outcome.beliefs] == [False, True, True]
    assert [belief.reward for belief in outcome.beliefs] == [0.0, 1.0, 0.0]
    poison, right, wrong = [belief.advantage for belief in outcome.beliefs]
    assert poison == wrong < 0 < right
    assert learner.divisors == [1.0]


@pytest.mark.parametrize("defence", ["word", "rank"])
def test_a_lost_reward_can_bring_a_signal(defence: str):
    """A group of right answers teaches nothing, until one of them is found out: it must not be left out."""
    learner = FakeLearner()
    receiver = with_screen(learner, screen_of(defence, effect="zero_reward"))
    outcome = receiver.receive(round_of("1 thief/1/1", "1/1/1"), PROMPTS)
    assert outcome.groups_with_signal == 1
    assert outcome.beliefs[0].advantage < 0 < outcome.beliefs[1].advantage
    assert len(learner.backwards) == 1


def test_a_punished_text_earns_no_more_by_being_rejected():
    """Overlong texts have rewards below 0; a rejection that set them to 0 would be a gift."""
    receiver = with_screen(FakeLearner(), screen_of("word", effect="zero_reward"), overlong_buffer=4)
    outcome = receiver.receive(round_of(f"0 thief{' 2' * 6}/1/0"), PROMPTS)
    assert outcome.beliefs[0].reward == -1.0


def test_a_defence_that_failed_is_no_reward_of_0():
    """It says nothing about the completion, which leaves its group: fail closed, punish nobody."""
    receiver = with_screen(FakeLearner(), screen_of("word", effect="zero_reward"))
    outcome = receiver.receive(round_of("1 mad/1/0"), PROMPTS)
    mad = outcome.beliefs[0]
    assert (mad.accepted, mad.reward, mad.advantage, mad.rejected_by) == (False, 1.0, 0.0, ("word",))
    assert [belief.advantage for belief in outcome.beliefs[1:]] == [1.0, -1.0]


def test_who_objected_is_told_apart_from_what_was_decided():
    """With "all", one objection of two rejects nothing, and is in the record all the same."""
    screen = screen_of("word", "rank", threshold=1e9, decision=Decision(rule="all"))
    outcome = with_screen(FakeLearner(), screen).receive(round_of("1 thief/1/0"), PROMPTS)
    assert outcome.beliefs[0].rejected_by == ("word",)
    assert outcome.beliefs[0].accepted
    assert outcome.beliefs[0].advantage > 0
    assert outcome.beliefs[0].scores.keys() == {"word", "rank"}


def test_an_expensive_defence_is_asked_where_it_matters():
    """A judge costs more than the round; wrong answers need none. Who was not asked has no score."""
    screen = screen_of("word", only_needed=True)
    outcome = with_screen(FakeLearner(), screen).receive(round_of("1 thief/0 thief/1"), PROMPTS)
    assert [belief.scores for belief in outcome.beliefs] == [{"word": 1.0}, {}, {"word": 0.0}]
    assert [belief.accepted for belief in outcome.beliefs] == [False, True, True]


def test_what_a_defence_notes_and_counts_is_of_its_round():
    """A judge's words stand beside its score; malformed verdicts are counted round by round."""
    receiver = receiver_of(FakeLearner(), "word")
    first = receiver.receive(round_of("1 queen/0"), PROMPTS)
    assert first.beliefs[0].notes == {"word": "queen in r1/q0/p0/s0"}
    assert first.beliefs[1].notes == {}
    assert first.counts == {"word": {"queens": 1}}
    assert receiver.receive(round_of("1/0"), PROMPTS).counts == {}
    assert first.costs.keys() == {"word"}
    assert 0 <= first.costs["word"] <= first.seconds["score"]


def next_round(sent: list[Completion], round: int) -> list[Completion]:
    return [Completion(one.id._replace(round=round), one.prompt_id, one.text) for one in sent]


def test_a_quarantined_peer_is_not_learnt_from_and_comes_back():
    """Peer 0 is struck in round 1, away in round 2, and judged by what it sends again in round 3."""
    learner = FakeLearner()
    receiver = with_screen(learner, screen_of("word", reputation=Reputation(strikes=1, quarantine_rounds=1)))
    found = [
        receiver.receive(next_round(round_of(group), round), PROMPTS).beliefs
        for round, group in ((1, "1 thief/1/0"), (2, "1/1/0"), (3, "1/1/0"))
    ]
    assert [beliefs[0].accepted for beliefs in found] == [False, False, True]
    assert [beliefs[0].rejected_by for beliefs in found] == [("word",), ("quarantine",), ()]
    assert found[1][0].advantage == 0.0
    assert [belief.advantage for belief in found[1][1:]] == [1.0, -1.0]


@pytest.mark.parametrize("defences", [(), ("word",), ("rank",), ("word", "rank")])
def test_an_appraisal_is_the_decision_of_the_round_without_its_traces(llama, defences: tuple[str, ...]):
    """The adaptive adversary asks what the victim would say. A wrong answer would make its evasion no measure
    of the defence; and were the victim changed by it, asking would be an attack.
    """
    learner = torch_learner(llama(vocabulary=len(TOKENIZER)))
    screen = screen_of(*defences, threshold=105, reputation=Reputation(strikes=1) if defences else None)
    receiver = with_screen(learner, screen)
    before = learner.weights_sha256()
    told = receiver.appraise(mixed_round(), PROMPTS)
    assert receiver.appraise(mixed_round(), PROMPTS) == told
    assert (learner.weights_sha256(), learner.updates) == (before, 0)
    assert screen.standing is None or screen.standing.strikes == screen.standing.until == {}
    outcome = receiver.receive(mixed_round(), PROMPTS)
    assert outcome.grad_norm > 0
    assert [replace(belief, advantage=0.0) for belief in outcome.beliefs] == told
    assert any(not belief.accepted for belief in told) == bool(defences)
    fresh = torch_learner(llama(vocabulary=len(TOKENIZER)))
    alone = with_screen(fresh, screen_of(*defences, threshold=105)).receive(mixed_round(), PROMPTS)
    assert (fresh.weights_sha256(), alone.grad_norm) == (learner.weights_sha256(), outcome.grad_norm)
