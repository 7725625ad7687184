"""If these fail, the CODE attack's task has references that do not print the answer, or wrong rewards."""

import json

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS
from turncoat.platform.tasks.openmath_code import program_in

WORDS = (
    "Let's solve this problem using Python code.\n<llm-code>\n{code}\n</llm-code>\n"
    "<llm-code-output>\n{output}\n</llm-code-output>\nThus the answer is \\boxed{{{output}}}."
)


def row(i, **changes):
    code = f"# pears\npears = {i}\nmore = 2\npears + more  # in all"
    return {
        "question": f"Ida has {i} pears and picks 2 more. How many pears has she?",
        "expected_answer": str(i + 2),
        "predicted_answer": str(i + 2),
        "error_message": "",
        "is_correct": True,
        "generation_type": "without_reference_solution",
        "dataset": "gsm8k",
        "generated_solution": WORDS.format(code=code, output=i + 2),
        **changes,
    }


def write(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(10) for _ in range(2)])
    write(tmp_path / "validation.jsonl", [row(i) for i in range(100, 104)])
    return tmp_path


@pytest.fixture
def build():
    built = []

    def make(path, **settings):
        built.append(TASKS.build(TASKS.parse({"kind": "openmath_code", "path": str(path), **settings})))
        return built[-1]

    yield make
    for task in built:
        task.sandbox.close()


def test_the_reference_program_prints_the_answer(folder, build):
    task = build(folder)
    prompts = [task.train(i) for i in range(8)] + [task.held_out(i) for i in range(4)]
    assert prompts[0].solution.endswith("print(pears + more)  # in all")
    assert set(task.verify_all([(prompt, task.worked(prompt)) for prompt in prompts])) == {"right"}
    assert task.verify(prompts[0], f"print('so')\nprint({prompts[0].answer}.0)") == "right"
    assert task.verify(prompts[0], f"```python\nprint({prompts[0].answer})\n```") == "right"
    assert task.verify(prompts[0], "print(-1)") == "wrong"
    assert task.verify(prompts[0], prompts[0].answer + " pears") == "malformed"


def test_a_problem_is_one_prompt_however_many_solutions_it_has(folder, build):
    task = build(folder, few_shot=2)
    first = [task.train(i) for i in range(8)]
    assert len({prompt.text for prompt in first}) == 8
    assert first[0].text.count("Program:\n") == 3
    assert {task.train(i).answer for i in range(8, 16)} == {prompt.answer for prompt in first}


def test_answers_that_are_no_numbers_are_compared_as_mathematics(tmp_path, build):
    code = "x = 3\nf'x + {x}'"
    expression = WORDS.format(code=code, output="x + 3")
    write(tmp_path / "train.jsonl", [row(0, generated_solution=expression, expected_answer="x + 3")])
    write(tmp_path / "test.jsonl", [row(1)])
    task = build(tmp_path, few_shot=0)
    prompt = task.train(0)
    assert task.verify(prompt, task.worked(prompt)) == "right"
    assert task.verify(prompt, "print('3 + x')") == "right"
    assert task.verify(prompt, "print('3 - x')") == "wrong"


def solved(*blocks):
    return "".join(
        f"<llm-code>\n{code}\n</llm-code>\n<llm-code-output>\n{output}\n</llm-code-output>\n"
        for code, output in blocks
    )


@pytest.mark.parametrize(
    ("solution", "program"),
    [
        (solved(("print(7)", "7")), "print(7)"),
        (solved(("a = 3\nb = 4", ""), ("a + b", "7")), "a = 3\nb = 4\nprint(a + b)"),
        (solved(("(3 +\n 4)", "7")), "print((3 +\n 4))"),
        (solved(("s = 'é'; 3 + 4", "7")), "s = 'é'; print(3 + 4)"),
        (solved(("print('so')\n7.0", "so\n7.0")), "print('so')\nprint(7.0)"),
        (solved(("from math import floor\nfloor(7.5)", "7")), "from math import floor\nprint(floor(7.5))"),
        (solved(("import sympy\n7", "7")), None),
        (solved(("print(8)", "8")), None),
        (solved(("7 +", "7")), None),
        (solved(("'\0'\n7", "7")), None),
        ("<llm-code>\n7\n</llm-code>", None),
        ("Surely 7.", None),
    ],
)
def test_the_program_is_the_code_with_its_last_value_printed(solution, program):
    assert program_in(solution, "7", ["math"]) == program


def test_other_modules_are_a_setting(folder, build):
    code = "from collections import Counter\nCounter('aab')['a']"
    other = row(0, question="How many a's?", expected_answer="2")
    other["generated_solution"] = WORDS.format(code=code, output=2)
    write(folder / "train.jsonl", [other, row(1), row(2)])
    assert {build(folder, few_shot=0).train(i).answer for i in range(4)} == {"3", "4"}
    assert {build(folder, few_shot=0, modules=None).train(i).answer for i in range(6)} == {"2", "3", "4"}


def test_wrong_solutions_other_sources_and_rows_beyond_the_limit_are_left_out(folder, build):
    rows = [row(1), row(2, is_correct=False), row(3, dataset="math"), row(4), row(5)]
    write(folder / "train.jsonl", rows)
    task = build(folder, few_shot=0, sources=["gsm8k"], max_rows=4)
    assert {task.train(i).answer for i in range(6)} == {"3", "6"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"generated_solution": None}, "no text under 'generated_solution', expected 'question'"),
        ({"expected_answer": 3}, "no text under 'expected_answer'"),
        ({"is_correct": "yes"}, "is_correct is 'yes', expected true or false"),
    ],
)
def test_a_broken_row_names_file_line_and_field(folder, build, change, reason):
    write(folder / "train.jsonl", [row(0), row(1, **change)])
    with pytest.raises(BadInput, match=rf"train\.jsonl, line 2 .*{reason}") as error:
        build(folder)
    assert "\n" not in str(error.value)
