"""If these fail, data sets are read from other files or splits than named, or train on what is held out."""

import json

import pyarrow
import pytest
from pyarrow import parquet

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS
from turncoat.platform.tasks.gsm8k import parse
from turncoat.platform.tasks.rows import read


def row(i):
    return {"question": f"What is {i} and 2?", "answer": f"So.\n#### {i + 2}"}


def write(file, rows):
    if file.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def rows_of(path=None, limit=None):
    return read(TASKS.parse({"kind": "gsm8k", "path": path and str(path)}), parse, limit)


@pytest.fixture
def hub(monkeypatch):
    """Put a data set, split -> rows, in the hub's place; every name finds it."""
    splits = {}
    monkeypatch.setattr("datasets.load_dataset", lambda *_: splits)
    return splits


@pytest.mark.parametrize("names", [("train.jsonl", "test.parquet"), ("train.parquet", "validation.jsonl")])
def test_a_folder_may_hold_parquet_and_a_validation_split(tmp_path, names):
    for name, first in zip(names, (0, 100), strict=True):
        write(tmp_path / name, [row(i) for i in range(first, first + 5)])
    rows = rows_of(tmp_path)
    assert [one.answer for one in rows["train"]] == [str(i + 2) for i in range(5)]
    assert [one.number for one in rows["test"]] == list(range(5))
    assert rows["test"][0].question == "What is 100 and 2?"


def test_test_is_preferred_to_validation(tmp_path):
    for name, i in (("train.jsonl", 0), ("validation.jsonl", 1), ("test.jsonl", 2)):
        write(tmp_path / name, [row(i)])
    assert rows_of(tmp_path)["test"][0].answer == "4"


def test_only_so_many_rows_are_looked_at(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(5)])
    (tmp_path / "test.jsonl").write_text(json.dumps(row(9)) + "\nbroken\n")
    rows = rows_of(tmp_path, limit=1)
    assert (len(rows["train"]), len(rows["test"])) == (1, 1)


def test_the_hubs_own_splits_are_used(hub):
    hub.update(train=[row(0), row(1)], validation=[row(7)], prompt=[{}])
    rows = rows_of()
    assert [one.answer for one in rows["train"]] == ["2", "3"]
    assert [one.answer for one in rows["test"]] == ["9"]


def test_a_hub_data_set_without_training_rows_is_refused(hub):
    hub.update(test=[row(0)])
    with pytest.raises(BadInput, match=r"has the splits test: expected is train"):
        rows_of()


def test_a_bad_row_on_the_hub_is_named(hub):
    hub.update(train=[row(0), {"question": "Why?"}], test=[row(1)])
    with pytest.raises(BadInput, match=r"'openai/gsm8k', split train, row 2: has no text under 'answer'"):
        rows_of()


def test_a_bad_parquet_row_or_file_is_named(tmp_path):
    bad = [row(0), {"question": None, "answer": "#### 2"}]
    with pytest.raises(BadInput, match=r"all\.parquet, row 2: has no text under 'question'"):
        rows_of(write(tmp_path / "all.parquet", bad))
    (tmp_path / "all.parquet").write_text("no parquet")
    with pytest.raises(BadInput, match=r"all\.parquet is no Parquet file") as error:
        rows_of(tmp_path / "all.parquet")
    assert "\n" not in str(error.value)


def test_a_question_that_is_held_out_is_not_trained_on_from_the_other_file(tmp_path):
    write(tmp_path / "train.jsonl", [row(i) for i in range(4)])
    write(tmp_path / "test.jsonl", [row(3)])
    task = TASKS.build(TASKS.parse({"kind": "gsm8k", "path": str(tmp_path), "few_shot": 0}))
    assert {task.train(i).answer for i in range(9)} == {"2", "3", "4"}
