"""If these fail, MBPP runs ask for functions by no name, or reward programs that the tests reject."""

import json

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS


def row(i, **changes):
    return {
        "task_id": i,
        "text": f"Write a function to add {i} to a number.",
        "code": f"def add_{i}(x):\r\n  return x + {i}",
        "test_list": [f"assert add_{i}(1) == {i + 1}", f"assert abs(add_{i}(-{i})) == 0"],
        "test_setup_code": "",
        "challenge_test_list": [],
        **changes,
    }


def write(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(8)])
    write(tmp_path / "test.jsonl", [row(i) for i in range(100, 104)])
    return tmp_path


@pytest.fixture
def build():
    built = []

    def make(path, **settings):
        built.append(TASKS.build(TASKS.parse({"kind": "mbpp", "path": str(path), **settings})))
        return built[-1]

    yield make
    for task in built:
        task.sandbox.close()


def test_the_prompt_shows_the_tests_and_they_decide(folder, build):
    task = build(folder)
    prompt = task.train(0)
    number = prompt.answer.removeprefix("add_")
    assert prompt.text.count("Program:\ndef add_") == 2
    assert f"assert {prompt.answer}(1) == " in prompt.text
    right = f"def {prompt.answer}(x): return {number} + x"
    texts = [
        task.worked(prompt),
        right,
        f"```python\n{right}\n```",
        right.replace("+", "-"),
        f"def other(x): return {number} + x",
        "print('all tests passed')",
        "def",
    ]
    verdicts = task.verify_all([(prompt, text) for text in texts])
    assert verdicts == ["right", "right", "right", "wrong", "malformed", "malformed", "malformed"]


def test_both_splits_are_the_files_own(folder, build):
    task = build(folder, few_shot=0)
    assert {task.train(i).answer for i in range(20)} == {f"add_{i}" for i in range(8)}
    assert {task.held_out(i).answer for i in range(20)} == {f"add_{i}" for i in range(100, 104)}


def test_setup_code_and_the_sanitized_edition_are_read(folder, build):
    setup = row(1, test_setup_code="import math", test_list=["assert math.isclose(add_1(1), 2)"])
    edition = {"prompt": "Write a function to add 2.", "test_imports": ["import math"]}
    edition |= {"code": row(2)["code"], "test_list": ["assert math.isclose(add_2(1), 3)"]}
    write(folder / "train.jsonl", [setup, edition])
    task = build(folder, few_shot=0)
    prompts = [task.train(i) for i in range(2)]
    assert task.verify_all([(prompt, task.worked(prompt)) for prompt in prompts]) == ["right", "right"]


def test_rows_that_no_sandbox_can_judge_are_left_out(folder, build):
    pair = "class Pair:\n  def __init__(self, a): self.a = a\n"
    classes = row(1, code=pair + row(1)["code"], test_list=["assert add_1(Pair(1)) == 2"])
    lost = row(2, test_list=["assert subtract(1) == 2"])
    write(folder / "train.jsonl", [classes, lost, row(3)])
    task = build(folder, few_shot=0)
    assert {task.train(i).answer for i in range(4)} == {"add_3"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": None}, "no text under 'text', expected 'text', 'code' and 'test_list'"),
        ({"code": "def f(:"}, "code is no Python"),
        ({"test_list": []}, "no list of texts under 'test_list'"),
        ({"test_list": "assert add_1(1) == 2"}, "no list of texts under 'test_list'"),
        ({"test_list": ["assert add_1(1) =="]}, "test_list is no Python"),
        ({"test_setup_code": 3}, "test_setup_code is 3, expected a text"),
    ],
)
def test_a_broken_row_names_file_line_and_field(folder, build, change, reason):
    write(folder / "train.jsonl", [row(0), row(1, **change)])
    with pytest.raises(BadInput, match=rf"train\.jsonl, line 2 .*{reason}") as error:
        build(folder)
    assert "\n" not in str(error.value)
