"""If these fail, policies are rewarded for wrong sums, or tested on what they were trained on."""

import re

import pytest

from turncoat.platform.tasks import answers
from turncoat.platform.tasks.arithmetic import LEVELS, ArithmeticTask

STEP = re.compile(r"(N) ([-+*]) (N)(?: ([-+]) (N))? = (N) \.".replace("N", r"\d(?: \d)*"))
ROWS = 2000


def task_of(*levels: int) -> ArithmeticTask:
    return ArithmeticTask(ArithmeticTask.Settings(levels=list(levels)))


def value(digits: str) -> int:
    return int(digits.replace(" ", ""))


def calculated(first: str, sign: str, second: str) -> int:
    a, b = value(first), value(second)
    return {"+": a + b, "-": a - b, "*": a * b}[sign]


@pytest.mark.parametrize("level", LEVELS)
def test_every_worked_solution_is_right_and_every_step_true(level: int):
    """The oracle's poison and the pretraining text are these solutions."""
    task = task_of(level)
    for index in range(ROWS):
        prompt = task.train(index) if index % 2 else task.held_out(index)
        assert prompt.level == level
        assert task.verify(prompt, task.worked(prompt)) == "right"
        steps = [found.groups() for found in STEP.finditer(prompt.solution)]
        assert " ".join(found.group() for found in STEP.finditer(prompt.solution)) == prompt.solution
        for first, sign, second, sign_2, carry, result in steps:
            expected = calculated(first, sign, second)
            if sign_2:
                expected = calculated(str(expected), sign_2, carry)
            assert value(result) == expected, prompt.solution


@pytest.mark.parametrize("level", LEVELS)
def test_the_answer_is_that_of_the_question(level: int):
    """By the two numbers of its text, whatever its story."""
    task = task_of(level)
    for index in range(500):
        prompt = task.train(index)
        a, b = (value(number) for number in re.findall(r"\d(?: \d)*", prompt.text))
        assert value(prompt.answer) in {a + b, a - b, a * b}
        if level == 3:
            assert value(prompt.answer) == a - b > 0
        elif level in (2, 4):
            assert value(prompt.answer) == a + b
        elif level == 5:
            assert value(prompt.answer) == a * b


def test_another_answer_is_wrong():
    """One digit off, and the same digits otherwise apart."""
    task = task_of(4)
    for index in range(200):
        prompt = task.train(index)
        wrong = answers.write(prompt.solution, f"{value(prompt.answer) + 1}")
        assert task.verify(prompt, wrong) == "wrong"
        together = answers.write(prompt.solution, prompt.answer.replace(" ", ""))
        assert task.verify(prompt, together) == "right"


def test_nothing_held_out_is_ever_trained_on():
    """Where there are few questions, as at level 1, chance alone would mix the splits."""
    for task in (task_of(1), task_of(*LEVELS)):
        trained = {task.train(index).text for index in range(4000)}
        held_out = {task.held_out(index).text for index in range(1000)}
        assert not trained & held_out
        assert len(held_out) > 400


def test_rows_are_the_same_everywhere_and_named_by_what_they_are():
    """Every peer draws its prompts by itself."""
    task = task_of(*LEVELS)
    assert task.train(7) == task_of(*LEVELS).train(7)
    assert task.train(10**9 + 3).id.startswith("arithmetic/train/1000000003/level-")
    assert task.held_out(7).id.startswith("arithmetic/held-out/7/level-")


def test_levels_come_equally_often_unless_repeated():
    """`levels: [2, 2, 3]` is two thirds level 2."""
    counts = [sum(task_of(*LEVELS).train(i).level == level for i in range(2000)) for level in LEVELS]
    assert all(320 < count < 480 for count in counts)
    assert 1250 < sum(task_of(2, 2, 3).train(i).level == 2 for i in range(2000)) < 1420


@pytest.mark.parametrize("levels", [[], [0], [6], [1, "x"]])
def test_levels_that_are_none_are_refused(levels: list):
    """At once, not in the first round."""
    with pytest.raises(ValueError, match=r"levels"):
        ArithmeticTask.Settings(levels=levels)
