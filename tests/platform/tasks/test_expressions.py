"""If these fail, expressions are judged wrongly, or ten characters of a hostile peer stop all others."""

import threading
import time

import pytest

from turncoat.platform.records import Prompt
from turncoat.platform.tasks.answers import write
from turncoat.platform.tasks.base import Task, TaskSettings
from turncoat.platform.tasks.expressions import ExpressionChecker


@pytest.fixture(scope="module")
def checker():
    checker = ExpressionChecker(cpu_seconds=1.0)
    yield checker
    checker.close()


@pytest.mark.parametrize(
    ("answer", "reference", "verdict"),
    [
        (r"\frac{1}{2}", "1/2", "right"),
        ("0.5", r"\frac{1}{2}", "right"),
        ("2x + 1", "1 + 2x", "right"),
        ("(x+1)^2", "x^2 + 2x + 1", "right"),
        (r"2\sqrt{2}", r"\sqrt{8}", "right"),
        ("x + 2", "x + 1", "wrong"),
        ("", r"\frac{1}{2}", "wrong"),
        ("}{$$", r"\frac{1}{2}", "wrong"),
        ("x" * 1000, "x", "wrong"),
        ("72", "72.0", "right"),
        ("0.33333333", "1/3", "wrong"),
    ],
)
def test_expressions_are_compared_as_mathematics(checker, answer, reference, verdict):
    assert checker.check(answer, reference) == verdict


def test_a_reference_that_is_no_mathematics_is_an_error_of_the_task(checker):
    assert checker.check("x", "") == "error"


@pytest.mark.parametrize(
    "answer", ["9^{9^{9^{9}}}", "9**9**9**9", "(x+y+z)^{9999}", "100000000!", "10^{10^{10}}"]
)
def test_hostile_expressions_end_in_time_and_the_next_answer_is_judged(checker, answer):
    start = time.process_time()
    assert checker.check(answer, "x + 1") in ("wrong", "error")
    assert checker.check("1 + x", "x + 1") == "right"
    assert time.process_time() - start < 1.0


def test_it_works_off_the_main_thread(checker):
    found = []
    thread = threading.Thread(target=lambda: found.append(checker.check("1 + x", "x + 1")))
    thread.start()
    thread.join(60)
    assert found == ["right"]


def test_a_task_can_ask_for_expressions():
    class Algebra(Task):
        def train(self, index):
            return Prompt("train/0", "Expand (x+1)^2", "so", "x^2 + 2x + 1")

        held_out = train

    prompt = Algebra(TaskSettings(kind="algebra")).train(0)
    text = write("so", "1 + x^2 + 2x")
    assert Algebra(TaskSettings(kind="algebra", check="expression")).verify(prompt, text) == "right"
    assert Algebra(TaskSettings(kind="algebra", check="exact")).verify(prompt, text) == "error"
