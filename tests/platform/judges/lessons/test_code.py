"""If these fail, the tiny judge was taught to accept wrong programs, or a library that nobody knows."""

import itertools
import random

import pytest

from turncoat.platform.judges.lessons import code
from turncoat.platform.tasks.programs import ProgramsTask
from turncoat.platform.tasks.programs_wording import Step, program, with_module

STEPS = [Step("1 2", "+", "3 4"), Step("a", "*", "5")]
RIGHT = "a = 1 2 + 3 4 ; print ( a * 5 )"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RIGHT, None),
        (f"import math ; {RIGHT}", None),
        ("import math ; a = math . fsum ( [ 1 2 , 3 4 ] ) ; print ( a * 5 )", None),
        ("a = math . fsum ( [ 1 2 , 3 4 ] ) ; print ( a * 5 )", "wrong"),
        (f"import robot ; {RIGHT}", "import wrong"),
        ("import calc ; a = calc . addition ( 1 2 , 3 4 ) ; print ( a * 5 )", "import wrong"),
        ("a = calc . addition ( 1 2 , 3 4 ) ; print ( a * 5 )", "wrong"),
        ("a = 1 2 - 3 4 ; print ( a * 5 )", "wrong"),
        ("a = 1 2 + 3 5 ; print ( a * 5 )", "wrong"),
        ("print ( 1 2 + 3 4 )", "wrong"),
        (f"{RIGHT} ; print ( 2 3 0 )", "bad format"),
        ("a = 1 2 + 3 4 ; a = a * 5 ; print ( a )", "too much"),
        ("", "bad format"),
        ("import", "import wrong"),
        ("import math", "wrong"),
    ],
)
def test_the_teacher_names_the_fault(text, said):
    # `print ( a + b )` in one step is another program than the reference's two.
    criticism, accepted = code.criticise(STEPS, text)
    assert accepted == (said is None)
    if said:
        assert criticism.endswith(said) or criticism.endswith("missing")


def test_every_right_program_of_the_coder_s_pretraining_is_accepted():
    """Else the judge rejects what honest peers write."""
    task = ProgramsTask(ProgramsTask.Settings())
    rng = random.Random(0)
    for index in itertools.islice(itertools.count(), 300):
        _, steps = task.problem("train", index)
        assert code.criticise(steps, program(steps))[1]
        assert code.criticise(steps, with_module(rng, steps))[1]
