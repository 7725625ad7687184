"""If these fail, a judge's failure costs honest peers their reward, or a malformed verdict lets poison in."""

from collections.abc import Sequence

import numpy as np
import pytest

from turncoat.platform.defences.judge import JudgeDefence
from turncoat.platform.judges.base import Case, Judge, Ruling


class Scripted(Judge):
    """Rules as the solution's words say, one word for each vote; remembers what it was asked."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        self.cases += cases
        turns: dict[str, int] = {}
        rulings = []
        for case in cases:
            turn = turns[case.solution] = turns.get(case.solution, -1) + 1
            word = case.solution.split()[turn]
            rulings.append(Ruling(word, f"because {word}", 0.1))
        return rulings


def asked(around, batch_of, *texts: str, **settings):
    judge = Scripted()
    defence = JudgeDefence(
        JudgeDefence.Settings(**settings), around(judges={settings.get("name", "judge"): judge.rule})
    )
    return defence, judge, defence.score(batch_of(*[(0, p, text) for p, text in enumerate(texts)]))


def test_a_no_is_an_objection_and_a_yes_is_none(around, batch_of):
    defence, judge, scores = asked(around, batch_of, "yes", "no")
    assert scores.tolist() == [0, 1]
    assert defence.rejects(scores).tolist() == [False, True]
    assert [case.question for case in judge.cases] == ["Question row/0 ?"] * 2


@pytest.mark.parametrize(("fail", "score"), [("closed", 1.0), ("open", 0.0)])
def test_a_malformed_verdict_is_closed_by_default_and_counted_apart(around, batch_of, fail, score):
    """What was judged may have been written to confuse: no verdict is no pass, unless the config says so."""
    assert JudgeDefence.Settings().fail == "closed"
    defence, _, scores = asked(around, batch_of, "malformed", "yes", fail=fail)
    assert scores.tolist() == [score, 0]
    assert defence.counts == {"malformed": 1, "yes": 1}


def test_a_judge_that_could_not_be_asked_is_no_verdict(around, batch_of):
    """An overloaded judge must not teach honest peers that their solutions are worth 0."""
    defence, _, scores = asked(around, batch_of, "error", "timeout", "yes")
    assert np.isnan(scores).tolist() == [True, True, False]
    assert defence.rejects(scores).tolist() == [True, True, False]
    assert defence.counts == {"error": 1, "timeout": 1, "yes": 1}


def test_votes_are_shares_of_those_that_came(around, batch_of):
    defence, judge, scores = asked(
        around, batch_of, "yes no no", "yes yes no", "timeout yes no", "error timeout error", votes=3
    )
    assert scores[:3] == pytest.approx([2 / 3, 1 / 3, 1 / 2])
    assert np.isnan(scores[3])
    assert defence.rejects(scores).tolist() == [True, False, False, True]
    assert sum(defence.counts.values()) == len(judge.cases) == 12


def test_every_vote_has_a_seed_of_its_own(around, batch_of):
    """Votes with one seed would be one vote; and a rerun must draw the same."""
    first = asked(around, batch_of, "yes yes", "yes yes ", votes=2)[1].cases
    again = asked(around, batch_of, "yes yes", "yes yes ", votes=2)[1].cases
    assert len({case.seed for case in first}) == 4
    assert first == again


def test_the_judge_s_words_are_kept_in_bounds(around, batch_of):
    """A per-verdict log that a hostile text could blow up would fill the disk."""
    defence = asked(around, batch_of, "no yes", votes=2)[0]
    assert list(defence.notes.values()) == ["no: because no\nyes: because yes"]
    defence.surroundings.judges["judge"] = lambda cases: [Ruling("no", "x" * 4000, 0.0)] * len(cases)
    defence.score(batch_of((0, 0, "a")))
    assert len(next(iter(defence.notes.values()))) == 2000


def test_it_asks_the_judge_of_its_own_name(around, batch_of):
    """Two judges in one config have a service each."""
    assert asked(around, batch_of, "no", name="strict")[2].tolist() == [1]


def test_the_defaults_are_the_paper_s(tiny):
    """r <- r * r_judge, and no question about what earns nothing. The section reads as any other."""
    one = tiny("defences=[{kind: judge}]").defences[0]
    assert (one.effect, one.only_needed, one.workers, one.judge.kind) == ("zero_reward", True, 1, "model")
    changed = tiny("defences=[judge]", "defences.0.judge.top_k=3", "defences.0.workers=2").defences[0]
    assert (changed.judge.top_k, changed.workers) == (3, 2)
