"""If these fail, MATH runs train on other levels than asked for, or reward what is not the boxed answer."""

import json

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS
from turncoat.platform.tasks.math import boxed

SUBJECTS = ("Algebra", "Geometry")


def row(i):
    return {
        "problem": f"What is $\\frac{{{2 * i + 1}}}{{2}}$ doubled?",
        "level": f"Level {i % 5 + 1}",
        "type": SUBJECTS[i % 2],
        "solution": f"Doubling a half, we get $\\boxed{{{2 * i + 1}}}$.",
    }


def write(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(20)])
    write(tmp_path / "test.jsonl", [row(i) for i in range(100, 110)])
    return tmp_path


def build(path, **settings):
    return TASKS.build(TASKS.parse({"kind": "math", "path": str(path), **settings}))


def test_the_level_is_the_prompts_and_the_reference_completion_is_right(folder):
    task = build(folder)
    prompt = task.train(3)
    assert prompt.level in range(1, 6)
    assert prompt.id.endswith(f"level-{prompt.level}")
    assert task.verify(prompt, task.worked(prompt)) == "right"
    assert task.verify(prompt, "<think>no</think><answer>0</answer>") == "wrong"
    assert task.verify(prompt, prompt.answer) == "malformed"


def test_answers_are_compared_as_expressions_by_default(tmp_path):
    rows = [row(0), row(1), {**row(2), "solution": r"So it is $\boxed{\frac{x+1}{2}}$."}]
    write(tmp_path / "train.jsonl", rows)
    write(tmp_path / "test.jsonl", [row(9)])
    task = build(tmp_path)
    prompt = task.train(0)
    assert prompt.answer == r"\frac{x+1}{2}"
    assert task.verify(prompt, r"<think></think><answer>\frac12(1+x)</answer>") == "right"
    assert task.verify(prompt, r"<think></think><answer>\frac12x</answer>") == "wrong"


def test_levels_and_subjects_are_kept_in_both_splits(folder):
    task = build(folder, levels=[2, 3], subjects=["Geometry"], few_shot=0)
    prompts = [task.train(i) for i in range(20)] + [task.held_out(i) for i in range(20)]
    assert {prompt.level for prompt in prompts} == {2, 3}
    assert {(int(prompt.answer) - 1) // 2 % 2 for prompt in prompts} == {1}


def test_other_editions_of_the_data_set_are_read(tmp_path):
    """MATH-500 has numbers for levels, `subject`, and an `answer` of its own; some levels are unknown."""
    first = {**row(0), "level": 4, "answer": "7", "subject": "Algebra", "type": None}
    write(tmp_path / "train.jsonl", [first, {**row(1), "level": "Level ?"}])
    write(tmp_path / "test.jsonl", [row(9)])
    task = build(tmp_path, few_shot=0)
    assert {(task.train(i).level, task.train(i).answer) for i in range(2)} == {(4, "7"), (0, "3")}


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"Now $\boxed{1}$, and so $\boxed{\frac{1}{\sqrt{2}}}$.", r"\frac{1}{\sqrt{2}}"),
        (r"It is $\boxed{\{1, 2\}}$.", r"\{1, 2\}"),
        (r"It is $\fbox{7}$.", "7"),
        (r"It is $\boxed 5$.", "5"),
        (r"It is $\boxed{\text{(A)}}$", r"\text{(A)}"),
        (r"It is $\boxed{5$", None),
        (r"It is $\boxed{}$", None),
        ("It is 5.", None),
    ],
)
def test_the_answer_is_what_is_boxed_last(solution, answer):
    assert boxed(solution) == answer


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"solution": "It is 5."}, r"solution is 'It is 5\.', expected one that boxes"),
        ({"level": "Level 6"}, "level is 'Level 6', expected 'Level 1' to 'Level 5'"),
        ({"level": None}, "level is None"),
        ({"problem": 3}, "no text under 'problem', expected 'problem' and 'solution'"),
        ({"problem": "\ud800"}, "surrogates"),
        ({"answer": 5}, "no text under 'answer'"),
    ],
)
def test_a_broken_row_names_file_line_and_field(folder, change, reason):
    write(folder / "train.jsonl", [row(0), {**row(1), **change}])
    with pytest.raises(BadInput, match=rf"task\.path: .*train\.jsonl, line 2 .*{reason}") as error:
        build(folder)
    assert "\n" not in str(error.value)


def test_a_row_without_subject_is_named_when_subjects_are_chosen(folder):
    write(folder / "train.jsonl", [{**row(0), "type": None}])
    with pytest.raises(BadInput, match=r"line 1 .*no text under 'type' or 'subject'"):
        build(folder, subjects=["Algebra"])


def test_what_is_left_too_small_says_so(folder):
    with pytest.raises(BadInput, match="too few problems in its train split"):
        build(folder, subjects=["Precalculus"])


def test_the_subject_is_the_prompts_topic(folder, tmp_path):
    """Clients of a federation are dealt subjects by it; a data set without any is still read."""
    task = build(folder)
    assert {task.train(row).topic for row in range(task.rows)} == set(SUBJECTS)
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("train.jsonl", "test.jsonl"):
        rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        write(bare / name, [{key: row[key] for key in row if key != "type"} for row in rows])
    assert build(bare).train(0).topic == ""


def test_rows_counts_the_training_rows(folder):
    """A partition would deal rows out twice, or never, by a wrong count."""
    task = build(folder, few_shot=2)
    assert task.rows == 18
    assert len({task.train(row).id for row in range(18)}) == 18
