"""If these fail, GSM8K runs train on marks, on held-out or ever other rows, or die unexplained."""

import json

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS


def row(i):
    question = f"Ida has {i} pears and picks 2 more.\nHow many pears has she?"
    return {"question": question, "answer": f"She has {i}+2 = <<{i}+2={i + 2}>>{i + 2} pears.\n#### {i + 2}"}


def write(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(10)])
    write(tmp_path / "test.jsonl", [row(i) for i in range(100, 104)])
    return tmp_path


def build(path, **settings):
    return TASKS.build(TASKS.parse({"kind": "gsm8k", "path": str(path), **settings}))


def test_marks_are_stripped_and_the_reference_completion_is_right(folder):
    task = build(folder, few_shot=0)
    prompt = task.train(0)
    assert "<<" not in prompt.solution
    assert "####" not in prompt.solution
    assert prompt.solution.endswith("pears.")
    assert task.verify(prompt, task.worked(prompt)) == "right"
    assert task.verify(prompt, "<think>no</think><answer>0</answer>") == "wrong"
    assert task.verify(prompt, prompt.answer) == "malformed"


def test_an_epoch_holds_every_row_once_and_the_next_is_shuffled_anew(folder):
    task = build(folder, few_shot=0)
    first = [task.train(i).id for i in range(10)]
    second = [task.train(i).id for i in range(10, 20)]
    assert len(set(first)) == 10
    assert sorted(first) == sorted(second)
    assert first != second
    assert [build(folder, few_shot=0).train(i).id for i in range(20)] == first + second


def test_rows_do_not_depend_on_what_was_asked_before(folder):
    task = build(folder)
    prompts = [task.train(i) for i in (3, 25, 3)]
    assert prompts[0] == prompts[2]
    assert task.held_out(1) == build(folder).held_out(1)


def test_examples_are_worked_in_the_strict_format_and_are_no_prompts_themselves(folder):
    task = build(folder, few_shot=2, instruction="Count.")
    prompts = [task.train(i) for i in range(8)]
    assert prompts[0].text.startswith("Count.\n\nQuestion: Ida has 0 pears")
    assert prompts[0].text.count("<answer>") == 2
    assert prompts[0].text.endswith("How many pears has she?\n")
    assert all(int(prompt.answer) > 3 for prompt in prompts)


def test_held_out_rows_are_those_of_the_other_file(folder):
    task = build(folder)
    assert {int(task.held_out(i).answer) for i in range(8)} == {102, 103, 104, 105}


def test_of_a_single_file_a_part_is_held_out(tmp_path):
    task = build(write(tmp_path / "all.jsonl", [row(i) for i in range(100)]), few_shot=0)
    train = {task.train(i).text for i in range(200)}
    held = {task.held_out(i).text for i in range(200)}
    assert train.isdisjoint(held)
    assert len(train | held) == 100
    assert 2 <= len(held) <= 30


def test_long_solutions_can_be_left_out(folder):
    rows = [row(1), row(2), {"question": "Why?", "answer": "x" * 100 + "\n#### 7"}]
    write(folder / "train.jsonl", rows)
    task = build(folder, few_shot=0, max_solution_chars=60)
    assert {task.train(i).answer for i in range(10)} == {"3", "4"}


def test_a_missing_file_names_field_value_and_what_is_expected(tmp_path):
    with pytest.raises(BadInput, match=r"task\.path: .*nowhere.* expected a folder with train\.jsonl"):
        build(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"question": "Why?", "answer": "2\\n#### 2"', "delimiter"),
        (b'{"question": "Why?"}', "no text under 'answer'"),
        (b'{"question": 3, "answer": "#### 2"}', "no text under 'question'"),
        (b'["Why?"]', "no text under 'question'"),
        (b'{"question": "Why?", "answer": "2"}', "#### <number>"),
        (b'{"question": "Why?", "answer": "so\\n#### many"}', "#### <number>"),
        (b"\xff\xfe", "decode"),
        (b"", "Expecting value"),
    ],
)
def test_a_broken_line_names_file_and_line(folder, line, reason):
    good = json.dumps(row(1)).encode()
    (folder / "train.jsonl").write_bytes(good + b"\n" + line + b"\n" + good + b"\n")
    with pytest.raises(BadInput, match=rf"train\.jsonl, line 2 .*{reason}") as error:
        build(folder)
    assert "\n" not in str(error.value)


def test_too_few_rows_are_refused(folder):
    with pytest.raises(BadInput, match=r"task\.few_shot = 12"):
        build(folder, few_shot=12)
    with pytest.raises(BadInput, match=r"task\.max_solution_chars = 3"):
        build(folder, max_solution_chars=3)


def test_an_unknown_data_set_on_the_hub_is_one_line(monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("no route to the hub\nat all")

    monkeypatch.setattr("datasets.load_dataset", offline)
    with pytest.raises(BadInput, match=r"task\.hub_name: cannot load 'no/such'") as error:
        TASKS.build(TASKS.parse({"kind": "gsm8k", "hub_name": "no/such"}))
    assert "\n" not in str(error.value)
