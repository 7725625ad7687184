"""Nobody's results are overwritten, and a resumed run continues the one that was started."""

import os
from pathlib import Path

import pytest

from turncoat.platform.ids import CompletionId
from turncoat.platform.journal import completions
from turncoat.platform.journal.journal import Journal
from turncoat.platform.records import Belief, Completion

EXPERIMENT = "name: demo\nseed: 1\npeers:\n  count: 4\ndefences:\n- kind: support\n  top_k: 13\n"


def started(folder: Path) -> Journal:
    return Journal.create(folder, EXPERIMENT, {"python": "3.11"})


def record(journal: Journal, round: int):
    id = CompletionId(round, 0, 0, 0)
    row = completions.row(
        Completion(id, "q", "text"), "prompt", "honest", 0, Belief(id, 1.0, "right", 3, 0.0, True)
    )
    journal.record_round(round, [{"peer": "peer-01", "loss": 0.5}, {"peer": "peer-00", "loss": 0.5}], [row])
    journal.record_evaluation(round, [{"peer": "peer-00", "n": 10, "accuracy": 0.4}])
    (journal.pending_checkpoint(round) / "peer-00").mkdir()
    journal.commit_checkpoint(round, {"peer-00": "ab"}, keep=9, rng=[1, 2])


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_create_refuses_a_folder_with_something_in_it(tmp_path: Path):
    (tmp_path / "mine").write_text("results of last night")
    with pytest.raises(ValueError, match="not empty"):
        started(tmp_path)
    assert os.listdir(tmp_path) == ["mine"]
    with pytest.raises(ValueError, match="not empty"):
        started(tmp_path / "mine")


def test_create_takes_a_new_or_empty_folder(tmp_path: Path):
    assert started(tmp_path).experiment()["peers"] == {"count": 4}
    journal = started(tmp_path / "runs" / "a")
    assert journal.environment() == {"python": "3.11"}
    assert journal.metrics() == ([], None)
    assert journal.summary() is None


def test_open_says_that_a_folder_is_no_run(tmp_path: Path):
    with pytest.raises(ValueError, match=r"is no run: it has no experiment\.yaml"):
        Journal.open(tmp_path)


def test_lines_carry_their_kind_and_round_and_are_sorted_by_peer(tmp_path: Path):
    journal = started(tmp_path)
    record(journal, 1)
    lines = journal.metrics().lines
    assert [(line["kind"], line["round"], line["peer"]) for line in lines] == [
        ("round", 1, "peer-00"),
        ("round", 1, "peer-01"),
        ("evaluation", 1, "peer-00"),
    ]


@pytest.mark.parametrize("finished", [False, True])
def test_rewind_gives_the_folder_as_it_was_after_that_round(tmp_path: Path, finished: bool):
    """Train 4 = train 2 + resume 2, byte for byte, whatever the killed process left behind."""
    journal = started(tmp_path)
    record(journal, 1)
    record(journal, 2)
    expected = content(tmp_path)
    record(journal, 3)
    if finished:
        journal.merge_completions()
        journal.write_summary({"rounds": 3})
    else:
        (tmp_path / "completions" / ".tmp-round-00004.parquet").write_bytes(b"half")
        journal.pending_checkpoint(4)
        with (tmp_path / "metrics.jsonl").open("a") as file:
            file.write('{"kind": "rou')
    journal.rewind(2)
    assert content(tmp_path) == expected


def test_rewind_to_before_the_first_evaluation_leaves_a_fresh_run(tmp_path: Path):
    journal = started(tmp_path)
    fresh = content(tmp_path)
    journal.record_evaluation(0, [{"peer": "peer-00", "n": 10, "accuracy": 0.4}])
    journal.rewind(-1)
    assert content(tmp_path) == fresh


def test_the_latest_checkpoint_carries_what_a_resume_needs(tmp_path: Path):
    journal = started(tmp_path)
    assert journal.latest_checkpoint() is None
    record(journal, 1)
    found = journal.latest_checkpoint()
    assert found is not None
    assert found.state == {
        "round": 1,
        "experiment": journal.experiment(),
        "weights_sha256": {"peer-00": "ab"},
        "rng": [1, 2],
    }


def test_a_config_edited_after_a_checkpoint_is_noticed(tmp_path: Path):
    journal = started(tmp_path)
    record(journal, 1)
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT.replace("seed: 1", "seed: 2"))
    with pytest.raises(ValueError, match="was edited after round-00001: seed is 2, allowed is the run's 1"):
        journal.latest_checkpoint()


def test_resuming_with_another_config_names_every_key_that_differs(tmp_path: Path):
    journal = started(tmp_path)
    other = "name: demo\nseed: 2\npeers:\n  count: 4\ndefences:\n- kind: support\n  top_k: 12\nrounds: 3\n"
    with pytest.raises(ValueError, match="another experiment") as error:
        journal.same_experiment(other)
    text = str(error.value)
    assert "\n" not in text
    assert "seed is 2, allowed is the run's 1" in text
    assert "defences.0.top_k is 12, allowed is the run's 13" in text
    assert "rounds is 3, allowed is the run's 'not there'" in text
    assert "peers.count" not in text


def test_the_layout_of_the_yaml_does_not_make_another_experiment(tmp_path: Path):
    started(tmp_path).same_experiment(
        "{seed: 1, name: demo, peers: {count: 4}, defences: [{top_k: 13, kind: support}]}"
    )


def test_a_summary_with_nan_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="JSON"):
        started(tmp_path).write_summary({"attack": {"success_rate": float("nan")}})
