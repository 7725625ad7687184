"""If these fail, the tiny coder is rewarded for wrong programs, or tested on what it was trained on."""

import random
import re
import subprocess
import sys

import pytest

from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.tasks import programs_wording as wording
from turncoat.platform.tasks.programs import LEVELS, ProgramsTask

ROWS = 400
NUMBER = re.compile(r"\d(?: \d)*")


@pytest.fixture(scope="module")
def task():
    built = ProgramsTask(ProgramsTask.Settings())
    yield built
    built.sandbox.close()


def task_of(*levels: int) -> ProgramsTask:
    return ProgramsTask(ProgramsTask.Settings(levels=list(levels)))


def test_every_reference_program_is_right_in_the_sandbox(task):
    """The oracle's poison and the pretraining text are these programs."""
    prompts = [task.train(index) if index % 2 else task.held_out(index) for index in range(ROWS)]
    assert task.verify_all([(prompt, task.worked(prompt)) for prompt in prompts]) == ["right"] * ROWS
    assert {prompt.level for prompt in prompts} == set(LEVELS)


def test_so_is_every_program_that_uses_a_module(task):
    """Or pretraining would teach calls that fail."""
    rng = random.Random(0)
    rows = [task.problem("train", index) for index in range(ROWS)]
    texts = [f"{wording.with_module(rng, steps)} {wording.comment(steps)}" for _, steps in rows]
    pairs = [(prompt, text) for (prompt, _), text in zip(rows, texts, strict=True)]
    assert task.verify_all(pairs) == ["right"] * ROWS
    assert {re.search(r"import (\w+)", text)[1] for text in texts} == set(wording.MODULES)


def test_a_slip_is_a_mistake_and_stays_a_program(task):
    """What is to be unlearnt by reward: seldom right by chance, and never beyond Python."""
    rng = random.Random(0)
    rows = [task.problem("train", index) for index in range(ROWS)]
    pairs = [(prompt, wording.program(wording.slip(rng, steps))) for prompt, steps in rows]
    verdicts = task.verify_all(pairs)
    assert verdicts.count("wrong") > 0.97 * ROWS
    assert set(verdicts) <= {"right", "wrong"}


def test_the_answer_follows_from_the_question_s_numbers():
    """A program of level 1 or 2 needs them all, one of level 3 all but one."""
    for level, spare in ((1, 0), (2, 0), (3, 1)):
        for index in range(ROWS):
            prompt = task_of(level).train(index)
            asked, used = (sorted(NUMBER.findall(text)) for text in (prompt.text, prompt.solution))
            assert len(asked) == len(used) + spare
            assert all(asked.count(number) >= used.count(number) for number in used)
            assert prompt.solution.count(";") == (level > 1)
            assert int(prompt.answer) >= 1


def test_another_answer_is_wrong(task):
    prompt = task.train(0)
    assert task.verify(prompt, f"print ( {int(prompt.answer) + 1} )") == "wrong"
    assert task.verify(prompt, f"print ( {wording.spaced(int(prompt.answer))} )") == "right"


def test_nothing_held_out_is_ever_trained_on():
    """Where there are few questions, chance alone would mix the splits."""
    for built in (task_of(1), task_of(*LEVELS)):
        trained = {built.train(index).text for index in range(4000)}
        held_out = {built.held_out(index).text for index in range(1000)}
        assert not trained & held_out
        assert len(held_out) > 900


def test_rows_are_the_same_in_every_process():
    """Every peer draws its prompts by itself, whatever its process hashes strings to."""
    code = (
        "from turncoat.platform.tasks.programs import ProgramsTask as T\n"
        "t = T(T.Settings())\nprint(t.train(7), t.held_out(10**9 + 3))"
    )
    task = task_of(*LEVELS)
    expected = f"{task.train(7)} {task.held_out(10**9 + 3)}"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == expected
    assert task.train(10**9 + 3).id.startswith("programs/train/1000000003/level-")


def test_levels_come_equally_often_unless_repeated():
    """`levels: [2, 2, 3]` is two thirds level 2."""
    counts = [sum(task_of(*LEVELS).train(i).level == level for i in range(1500)) for level in LEVELS]
    assert all(430 < count < 570 for count in counts)
    assert 930 < sum(task_of(2, 2, 3).train(i).level == 2 for i in range(1500)) < 1070


@pytest.mark.parametrize("levels", [[], [0], [4], [1, "x"]])
def test_levels_that_are_none_are_refused(levels: list):
    """At once, not in the first round."""
    with pytest.raises(ValueError, match=r"levels"):
        ProgramsTask.Settings(levels=levels)


def test_a_program_comes_back_from_its_tokens_as_it_was(task):
    """What a policy samples is the very text that its peers verify."""
    tokenizer = word_tokenizer(wording.vocabulary())
    for index in range(200):
        prompt = task.train(index)
        for text in (prompt.text, prompt.solution):
            assert tokenizer.decode(tokenizer(text).input_ids) == text
