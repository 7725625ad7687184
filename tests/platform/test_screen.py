"""If these fail, defences are asked about the wrong completions, or their word leads to something else."""

from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from turncoat.platform.decide import Decision
from turncoat.platform.defences.base import Batch, Defence, DefenceSettings
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence, Row
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.reputation import Reputation
from turncoat.platform.screen import QUARANTINE, Screen, Screening


class Words(Defence):
    """Scores the texts that hold its word; NaN for those that hold "?"."""

    class Settings(DefenceSettings):
        kind: Literal["words"] = "words"
        word: str = "bad"

    settings: Settings

    def __init__(self, settings: Settings):
        super().__init__(settings, None)  # type: ignore[arg-type]
        self.asked: list[CompletionId] = []

    def score(self, batch: Batch) -> Any:
        self.asked += [one.id for one in batch.completions]
        self.counts["asked"] += len(batch)
        self.notes |= {
            one.id: one.text.upper() for one in batch.completions if self.settings.word in one.text
        }
        return np.array(
            [
                np.nan if "?" in one.text else float(self.settings.word in one.text)
                for one in batch.completions
            ]
        )


class Each(Words):
    per_completion: ClassVar[bool] = True


class Tokens(Words):
    needs_tokens: ClassVar[bool] = True

    def score(self, batch: Batch) -> Any:
        assert len(batch.evidence) == len(batch)
        return super().score(batch)


def of(cls: type[Words], word: str, **settings: Any) -> Words:
    return cls(cls.Settings(word=word, name=settings.pop("name", word), **settings))


EVIDENCE = Evidence(np.zeros(1, np.float32), np.zeros(1, np.int32))


def opened(screen: Screen, *texts: str, round: int = 1, verdicts: str = "") -> Screening:
    """Two completions of each peer, on one prompt; earning a reward unless `verdicts` has a "0" there."""
    completions = [
        Completion(CompletionId(round, 0, i // 2, i % 2), "row", text) for i, text in enumerate(texts)
    ]
    ids = [one.id for one in completions]
    earned = verdicts or "1" * len(ids)
    return screen.open(
        completions,
        {0: Prompt("row", "?", "so", "1")},
        [Row(id, (1,), (2, 3)) for id in ids],
        {id: "right" if mark == "1" else "wrong" for id, mark in zip(ids, earned, strict=True)},
        {id: float(mark) for id, mark in zip(ids, earned, strict=True)},
    )


def run(found: Screening) -> Screening:
    """A whole round in two parts."""
    found.ask_before_passes()
    ids = list(found.at)
    for part in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
        if found.screen.needs_tokens:
            found.ask_within_pass(part, [EVIDENCE] * len(part))
    return found


def places(found: Screening, ids: Any) -> list[int]:
    return sorted(found.at[id] for id in ids)


def test_an_objection_drops_or_takes_the_reward():
    """The effect is the objecting defence's own; where two differ, the completion goes."""
    screen = Screen([of(Words, "bad"), of(Words, "vile", effect="zero_reward")])
    found = run(opened(screen, "good", "bad", "vile", "bad and vile"))
    assert places(found, found.rejected) == [1, 2, 3]
    assert places(found, found.dropped) == [1, 3]
    assert list(found.rewards.values()) == [1, 1, 0, 1]
    assert [found.objectors(id) for id in found.at] == [(), ("bad",), ("vile",), ("bad", "vile")]


def test_a_penalty_is_not_lifted_by_taking_the_reward():
    """A completion below 0 (overlong) must not gain from being rejected."""
    found = opened(Screen([of(Words, "bad", effect="zero_reward")]), "bad", "bad")
    found.rewards = dict.fromkeys(found.rewards, -0.5)
    assert list(run(found).rewards.values()) == [-0.5, -0.5]


def test_a_score_that_could_not_be_computed_drops_and_never_costs_a_reward():
    """An error of the judge is no verdict on the solution."""
    found = run(opened(Screen([of(Words, "bad", effect="zero_reward")]), "is it ?", "good"))
    assert places(found, found.dropped) == [0]
    assert list(found.rewards.values()) == [1, 1]


@pytest.mark.parametrize(
    ("decision", "rejected"),
    [
        (Decision(), [1, 2, 3]),
        (Decision(rule="all"), [3]),
        (Decision(rule="weighted", weights={"vile": 2.0}), [2, 3]),
    ],
)
def test_the_decision_adds_up_objections(decision: Decision, rejected: list[int]):
    """Before the passes and within them alike."""
    for kinds in ((Words, Words), (Words, Tokens), (Tokens, Words), (Tokens, Tokens)):
        screen = Screen([of(kinds[0], "bad"), of(kinds[1], "vile")], decision)
        found = run(opened(screen, "good", "bad", "vile", "bad and vile"))
        assert places(found, found.rejected) == rejected


def test_only_needed_spares_what_cannot_matter():
    """No question about what earns nothing, or is rejected already; one about all else."""
    cheap, dear = of(Words, "bad"), of(Each, "vile", only_needed=True)
    found = run(opened(Screen([cheap, dear]), "good", "bad", "vile", "vile", verdicts="1101"))
    assert places(found, dear.asked) == [0, 3]
    assert places(found, cheap.asked) == [0, 1, 2, 3]
    assert [sorted(scores) for scores in found.scores.values()] == [
        ["bad", "vile"],
        ["bad"],
        ["bad"],
        ["bad", "vile"],
    ]
    every = of(Each, "vile", only_needed=True)
    run(opened(Screen([of(Words, "bad"), every], Decision(rule="all")), "good", "bad"))
    assert [id.sample for id in every.asked] == [1]


def test_only_needed_may_leave_nobody_to_ask():
    """A defence is not called on an empty batch."""
    dear = of(Each, "vile", only_needed=True)
    found = run(opened(Screen([dear]), "good", "vile", verdicts="00"))
    assert dear.asked == []
    assert found.rejected == set()


def test_a_judge_behind_a_token_check_waits_for_it():
    """Order of the config: what stands first and is cheap saves the one behind it its work."""
    check, judge = of(Tokens, "bad"), of(Each, "vile", only_needed=True)
    screen = Screen([check, judge])
    assert list(screen.within) == ["bad", "vile"]
    found = run(opened(screen, "good", "bad", "vile", "good"))
    assert places(found, judge.asked) == [0, 2, 3]
    assert places(found, found.rejected) == [1, 2]


def test_who_looks_at_the_whole_round_is_asked_before_the_passes():
    """A part of a round has too few others to compare with."""
    whole, check = of(Words, "vile"), of(Tokens, "bad")
    assert list(Screen([check, whole]).before) == ["vile"]
    assert list(Screen([of(Each, "vile"), check]).before) == ["vile"]
    found = opened(Screen([check, whole]), "good", "vile")
    found.ask_before_passes()
    assert places(found, whole.asked) == [0, 1]
    assert check.asked == []


def test_zeroes_may_come_within_the_passes():
    """The receiver then may not skip groups of equal rewards."""
    assert Screen([of(Tokens, "bad", effect="zero_reward")]).may_zero_within
    assert Screen([of(Tokens, "bad"), of(Each, "vile", effect="zero_reward")]).may_zero_within
    assert not Screen([of(Tokens, "bad"), of(Words, "vile", effect="zero_reward")]).may_zero_within


def test_notes_and_counts_are_handed_over_once():
    """A judge's words stand beside its score; counts of one round do not run into the next."""
    screen = Screen([of(Words, "bad")])
    found = run(opened(screen, "good", "bad"))
    assert list(found.notes.values()) == [{}, {"bad": "BAD"}]
    assert found.close() == {"bad": {"asked": 2}}
    assert opened(screen, "good", "bad", round=2).close() == {}


def test_costs_are_kept_apart():
    """Each defence reports what it took."""
    found = run(opened(Screen([of(Words, "bad"), of(Tokens, "vile")]), "good", "bad"))
    assert found.costs.keys() == {"bad", "vile"}
    assert min(found.costs.values()) > 0


def test_a_quarantined_peer_is_not_learnt_from():
    """Reject, quarantine, forgive: its completions are still scored, and the objector is named."""
    screen = Screen([of(Words, "bad")], reputation=Reputation(strikes=1, quarantine_rounds=1))
    run(opened(screen, "good", "good", "bad", "bad")).close()
    found = run(opened(screen, "good", "bad", "good", "bad", round=2))
    assert places(found, found.dropped) == [1, 2, 3]
    assert [found.objectors(id) for id in found.at] == [(), ("bad",), (QUARANTINE,), ("bad", QUARANTINE)]
    assert [len(scores) for scores in found.scores.values()] == [1] * 4
    found.close()
    third = run(opened(screen, "good", "good", "good", "good", round=3))
    assert third.dropped == set()


def test_a_defence_that_fails_is_no_strike_against_anybody():
    """A judge that is down for two rounds must not put the whole swarm into quarantine."""
    screen = Screen([of(Words, "bad")], reputation=Reputation(strikes=1))
    found = run(opened(screen, "?", "?", "bad", "?"))
    assert places(found, found.dropped) == [0, 1, 2, 3]
    found.close()
    assert opened(screen, "good", "good", "good", "good", round=2).quarantined == frozenset()
    run(opened(screen, "?", "?", "bad", "bad", round=2)).close()
    assert opened(screen, "good", "good", "good", "good", round=3).quarantined == {1}


def test_an_appraisal_is_not_remembered():
    """An adversary that asks what a receiver would say must not move its memory."""
    screen = Screen([of(Words, "bad")], reputation=Reputation(strikes=1))
    run(opened(screen, "bad", "bad", "good", "good")).close(remember=False)
    assert opened(screen, "good", "good", "good", "good", round=2).quarantined == frozenset()


def test_a_round_in_which_nothing_came_in():
    """All peers crashed, or all was refused at the door."""
    screen = Screen([of(Words, "bad"), of(Tokens, "vile")], reputation=Reputation())
    found = opened(screen)
    found.ask_before_passes()
    assert found.close() == {}
