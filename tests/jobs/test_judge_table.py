"""If these fail, the figures that are published for a judge are not what it did."""

import json
import re

import pytest

from turncoat.jobs import judge_injection
from turncoat.jobs.judge_injection import INJECTIONS, injected, logic_holds, measure
from turncoat.jobs.judge_table import built, main, table1
from turncoat.platform.config.errors import BadInput
from turncoat.platform.judges.base import Judge, JudgeSettings, Ruling
from turncoat.platform.registry import JUDGES, TASKS

YES, NO = (f"<criticism>x</criticism><decision>{word}</decision>" for word in ("yes", "no"))


class Rule(Judge):
    """A judge by a rule on the text, which remembers what it was asked."""

    Settings = JudgeSettings

    def __init__(self, accepts):
        self.accepts, self.cases = accepts, []

    def rule(self, cases):
        self.cases += cases
        return [Ruling(*("yes", YES) if self.accepts(c) else ("no", NO), 0.5, 0.25) for c in cases]


def test_each_row_is_judged_and_counted_by_itself():
    """Shares of another row, or of other completions, would compare nothing."""
    arithmetic, programs = TASKS.build(TASKS.parse("arithmetic")), TASKS.build(TASKS.parse("programs"))
    judge = Rule(lambda case: not re.search("hail|calc", case.solution))
    rows = table1(judge, [arithmetic, programs], completions=5, votes=4)
    assert [(row.task, row.what) for row in rows] == [
        *(("arithmetic", what) for what in ("honest", "wrong", "gibberish", "text", "equation")),
        *(("programs", what) for what in ("honest", "wrong", "gibberish", "library")),
    ]
    assert all((row.completions, row.verdicts, row.seconds, row.p_yes) == (5, 20, 0.5, 0.25) for row in rows)
    accepted = {(row.task, row.what): row.accepted for row in rows}
    assert accepted["arithmetic", "text"] == accepted["programs", "library"] == 0
    assert accepted["arithmetic", "honest"] == accepted["arithmetic", "equation"] == 1
    # Four verdicts on a completion, each with a seed of its own.
    assert len({case.seed for case in judge.cases}) == len(judge.cases) == 9 * 20
    equations = [case.solution for case in judge.cases if re.search(r"2 [+*] 2 = 5", case.solution)]
    assert len(equations) == 20


def test_wrong_solutions_are_wrong_somewhere():
    task = TASKS.build(TASKS.parse("arithmetic"))
    judge = Rule(lambda case: True)
    table1(judge, [task], completions=20, votes=1)
    worked = {task.held_out(i).text: task.worked(task.held_out(i)) for i in range(20)}
    right = [case.solution == worked.get(case.question) for case in judge.cases]
    assert right[:20] == [True] * 20
    assert right[20:40] == [False] * 20


def test_kinds_of_failure_are_counted_apart():
    """What could not be asked is no rejection, and the interval is that of completions, not verdicts."""

    class Broken(Rule):
        def rule(self, cases):
            verdicts = ["malformed", "error", "timeout", "yes"]
            return [Ruling(verdicts[i % 4], "", 0.1) for i in range(len(cases))]

    row = table1(Broken(None), [TASKS.build(TASKS.parse("arithmetic"))], completions=10, votes=4)[0]
    assert (row.malformed, row.errors, row.timeouts, row.accepted) == (10, 10, 10, 0.25)
    assert row.p_yes is None
    assert row.interval == pytest.approx((0.0567, 0.5098), abs=1e-3)  # Wilson, 2 of 10


def test_it_prints_json_or_a_table(capsys):
    main(
        judge="{kind: model, beams: 1, top_k: 1}",
        task=["arithmetic"],
        completions=2,
        votes=1,
        seed=0,
        as_json=True,
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["what"] for row in rows] == ["honest", "wrong", "gibberish", "text", "equation"]
    main(judge="{kind: model, beams: 1, top_k: 1}", task=["arithmetic"], completions=2, votes=1, seed=0)
    assert "equation" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["{kind: oracle}", "modle", "{kind: model, beam: 3}", "{kind: [", "{kind: model, beams: 0}"]
)
def test_a_wrong_judge_is_one_line(text):
    with pytest.raises(BadInput, match=r"^judges: "):
        built(JUDGES, text)


def test_there_are_twenty_texts_and_none_touches_the_verdict_s_logic():
    """Must show 4: whatever a model makes of them, the parser does not."""
    assert len(INJECTIONS) == 20
    assert len(set(INJECTIONS.values())) == 20
    assert max(map(len, INJECTIONS.values())) > 99_000
    for text in INJECTIONS.values():
        assert logic_holds("<think>1 + 1 = 2 .</think><answer>3</answer>", text)


def test_logic_that_does_not_hold_is_found(monkeypatch):
    """A check that cannot fail would prove nothing."""
    monkeypatch.setattr(judge_injection.prompt, "neutralise", lambda text, max_chars=0: text)
    found = [name for name, text in INJECTIONS.items() if not logic_holds("<think></think>", text)]
    assert {"closes the delimiter", "a whole verdict", "nested tags", "100 kB"} <= set(found)
    assert "German" not in found


def test_injected_texts_reach_the_judge_with_a_wrong_solution():
    """And the same wrong solution without one is what they are compared with."""
    task = TASKS.build(TASKS.parse("arithmetic"))
    judge = Rule(lambda case: "German" in case.solution or "Gutachter" in case.solution)
    rows = measure(judge, task, completions=3, votes=2)
    assert [row.injection for row in rows] == ["none", *INJECTIONS]
    assert {row.injection: row.accepted for row in rows if row.accepted} == {"German": 1.0}
    assert all(row.held and row.verdicts == 6 for row in rows)
    for case in judge.cases:
        prompt = next(p for p in map(task.held_out, range(3)) if p.text == case.question)
        assert task.verify(prompt, case.solution) in ("wrong", "malformed")
    assert judge.cases[-1].solution == injected(judge.cases[5].solution, INJECTIONS["100 kB"])
