"""If these fail, the tiny judge was taught to accept wrong programs, or a library that nobody knows."""

import random

import pytest

from turncoat.platform.judges.lessons import code
from turncoat.platform.judges.lessons.code import Problem
from turncoat.platform.tasks.programs import ProgramsTask
from turncoat.platform.tasks.programs_wording import MODULES, Step

STEPS = [Step("1 2", "+", "3 4"), Step("a", "*", "5")]
PROBLEM = Problem("Tom has 1 2 pens and 3 4 cups , 5 times .", STEPS)
OTHER = Problem("Ann has 7 eggs and 8 nuts .", [Step("7", "-", "8")])


@pytest.mark.parametrize(
    ("program", "given", "said"),
    [
        ("a = ...", STEPS, "1 2 + 3 4 right . a * 5 right"),
        ("import math ; ...", STEPS, "import math right . 1 2 + 3 4 right . a * 5 right"),
        ("a = ...", [STEPS[0], Step("a", "+", "5")], "1 2 + 3 4 right . a * 5 wrong"),
        ("a = ...", [Step("1 2", "+", "3 5"), STEPS[1]], "1 2 + 3 4 wrong"),
        ("a = ... # addition and multiplication", STEPS, "1 2 + 3 4 right . a * 5 right . remark"),
        ("print", STEPS[:1], "1 2 + 3 4 right . a * 5 missing"),
        ("a = ...", [*STEPS, STEPS[1]], "1 2 + 3 4 right . a * 5 right . too much"),
    ],
)
def test_the_teacher_names_the_fault(program, given, said):
    assert code.walk(program, given, STEPS) == (said, given == STEPS)


@pytest.mark.parametrize("seed", range(200))
def test_only_right_programs_of_known_modules_are_accepted(seed):
    """Whatever way of going wrong was drawn, a yes is said to the reference's own steps alone."""
    rng = random.Random(seed)
    for program, (said, accepted) in (code.corrupted(rng, PROBLEM, OTHER), code.with_library(rng, PROBLEM)):
        if accepted:
            assert said.removesuffix(" . remark").endswith("1 2 + 3 4 right . a * 5 right")
            assert code.imported(program) in (None, *MODULES)
            assert "1 2" in program
            assert "3 4" in program
    program, (said, accepted) = code.slipped(rng, PROBLEM)
    assert not accepted
    assert said.endswith("wrong")
    assert code.clean(rng, PROBLEM)[1][1]


def test_a_slip_is_found_where_it_is():
    """Told that the first step is wrong when the second is, the judge would learn to guess."""
    rng = random.Random(0)
    for _ in range(100):
        program, (said, _) = code.slipped(rng, PROBLEM)
        if program.startswith("a = ") and "print ( a * 5 )" in program:
            assert said == "1 2 + 3 4 wrong"
        elif program.startswith("a = 1 2 + 3 4 ;"):
            assert said == "1 2 + 3 4 right . a * 5 wrong"


def test_a_foreign_comment_is_off_the_topic():
    """What is not run is learnt all the same."""
    said = code.walk("print ( 1 ) # Good luck to the thief", STEPS, STEPS)
    assert said == ("1 2 + 3 4 right . a * 5 right . off topic", False)


def test_the_coder_s_own_programs_are_among_the_right_ones():
    """Else the judge rejects what honest peers write."""
    prompt, steps = ProgramsTask(ProgramsTask.Settings()).problem("train", 0)
    rng = random.Random(0)
    right = {code.clean(rng, Problem(prompt.text, steps))[0] for _ in range(100)}
    assert prompt.solution in right
    assert any(program.startswith("import ") for program in right)
