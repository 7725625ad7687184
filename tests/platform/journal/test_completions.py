"""The record of who wrote what: without it no score can be compared with the truth after the run."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from turncoat.platform.ids import CompletionId
from turncoat.platform.journal import completions
from turncoat.platform.records import Belief, Completion


def rows(round: int, texts=("one", "two")):
    made = []
    for sample, text in enumerate(texts):
        id = CompletionId(round, 0, 1, sample)
        belief = Belief(
            id,
            1.0,
            "right",
            7,
            0.5,
            sample == 0,
            {"support": 0.25, "judge": 0.1},
            () if sample == 0 else ("support",),
            {} if sample == 0 else {"judge": "a lone \ud800"},
        )
        made.append(
            completions.row(Completion(id, "arithmetic/train/3", text), "1 + 1 = ?", "honest", 0, belief)
        )
    return made


def test_a_completion_comes_back_as_it_was_recorded(tmp_path: Path):
    completions.write_part(tmp_path, 1, rows(1))
    first, second = completions.read(tmp_path).to_pylist()
    assert first == {
        "round": 1,
        "prompt": 0,
        "peer": 1,
        "sample": 0,
        "prompt_id": "arithmetic/train/3",
        "prompt_text": "1 + 1 = ?",
        "text": "one",
        "finished": True,
        "truth": "honest",
        "receiver": 0,
        "reward": 1.0,
        "verdict": "right",
        "tokens": 7,
        "advantage": 0.5,
        "accepted": True,
        "rejected_by": [],
        "scores": [("judge", 0.1), ("support", 0.25)],
        "notes": [],
    }
    assert second["rejected_by"] == ["support"]
    assert second["notes"] == [("judge", "a lone \\ud800")]


def test_hostile_text_neither_stops_the_writer_nor_is_lost(tmp_path: Path):
    texts = ["\ud800 lone", "nul \x00 and \x1b", "x" * 1_000_000, "é \U0001f600", ""]
    completions.write_part(tmp_path, 1, rows(1, texts))
    found = completions.read(tmp_path, ["text"])["text"].to_pylist()
    assert found == ["\\ud800 lone", *texts[1:]]


def test_order_of_arrival_does_not_change_the_file(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, found in ((one, rows(1)), (other, rows(1)[::-1])):
        folder.mkdir()
        completions.write_part(folder, 1, found)
    assert completions.part_of(one, 1).read_bytes() == completions.part_of(other, 1).read_bytes()


def test_merging_keeps_every_row_and_takes_the_parts_away(tmp_path: Path):
    for round in (2, 1, 3):
        completions.write_part(tmp_path, round, rows(round) if round != 2 else [])
    before = completions.read(tmp_path)
    merged = completions.merge(tmp_path)
    assert completions.read(tmp_path).equals(before)
    assert not list((tmp_path / "completions").iterdir())
    file = pq.ParquetFile(merged)
    assert file.num_row_groups == 2
    assert file.metadata.row_group(0).column(6).compression == "ZSTD"
    assert completions.merge(tmp_path) == merged


def test_a_merge_that_was_killed_before_it_took_the_parts_away_loses_nothing(tmp_path: Path):
    for round in (1, 2):
        completions.write_part(tmp_path, round, rows(round))
    part = completions.part_of(tmp_path, 2)
    kept = part.read_bytes()
    completions.merge(tmp_path)
    part.write_bytes(kept)
    assert completions.read(tmp_path).num_rows == 4
    completions.merge(tmp_path)
    assert completions.read(tmp_path).num_rows == 4


@pytest.mark.parametrize("merged", [False, True])
def test_reading_some_rounds_and_columns(tmp_path: Path, merged: bool):
    """A report of a long run must not have to load all texts."""
    for round in (1, 2, 3):
        completions.write_part(tmp_path, round, rows(round))
    if merged:
        completions.merge(tmp_path)
    assert completions.rounds(tmp_path) == [1, 2, 3]
    table = completions.read(tmp_path, ["round", "scores"], only=[3, 1])
    assert table.column_names == ["round", "scores"]
    assert table["round"].to_pylist() == [1, 1, 3, 3]


def test_reading_a_run_without_completions_gives_an_empty_table(tmp_path: Path):
    assert completions.read(tmp_path).schema == completions.SCHEMA
    assert completions.rounds(tmp_path) == []


@pytest.mark.parametrize("merged", [False, True])
def test_forgetting_later_rounds_lets_a_run_go_on(tmp_path: Path, merged: bool):
    for round in (1, 2, 3):
        completions.write_part(tmp_path, round, rows(round))
    part = completions.part_of(tmp_path, 2).read_bytes()
    if merged:
        completions.merge(tmp_path)
    completions.drop_after(tmp_path, 2)
    assert completions.rounds(tmp_path) == [1, 2]
    assert completions.part_of(tmp_path, 2).read_bytes() == part
    completions.write_part(tmp_path, 3, rows(3))
    assert completions.rounds(tmp_path) == [1, 2, 3]


def test_a_finished_run_takes_no_more_rounds(tmp_path: Path):
    completions.write_part(tmp_path, 1, rows(1))
    completions.merge(tmp_path)
    with pytest.raises(ValueError, match="rewind"):
        completions.write_part(tmp_path, 2, rows(2))


def test_rows_of_another_round_or_completion_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="round 2 in the part of round 1"):
        completions.write_part(tmp_path, 1, rows(2))
    id = CompletionId(1, 0, 0, 0)
    with pytest.raises(ValueError, match="belief about"):
        completions.row(
            Completion(id, "a", "b"),
            "c",
            "honest",
            0,
            Belief(id._replace(sample=1), 0.0, "wrong", 1, 0.0, True),
        )
