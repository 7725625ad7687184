"""A table of two hundred runs takes days: what is done stays done, what fails does not stop the rest for
ever.
"""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turncoat.actors.waiting import CalledOff
from turncoat.jobs import study as study_module
from turncoat.jobs.launch import resume, run
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import STUDY_CONFIG, path_of
from turncoat.jobs.study import FAILURE, finished, run_study, widen, write_study
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.journal.journal import Journal
from turncoat.platform.report.study import STUDY

QUIET = ["attack=none", "peers.malicious=0"]
TREE: dict[str, Any] = {
    "kind": "study",
    "name": "table",
    "concurrency": 1,
    "experiment": {"task": "arithmetic", "attack": "text", "rounds": 2},
    "arms": {"quiet": QUIET, "still": [*QUIET, "group_size=8"]},
    "grid": {
        "attack": {"text": [], "half": ["attack.poison_share=0.5"]},
        "defence": {"none": [], "support": ["defences=[support]"]},
    },
    "baseline": {"text": "quiet", "half": "still"},
    "skip": {"half.support": "no need"},
}
ARMS = ["quiet", "still", "text.none", "text.support", "half.none"]


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch, summary: Callable[..., Any]) -> list[str]:
    """Runs finish at once, but those whose name is in `broken`; the names of all that were begun."""
    begun: list[str] = []

    def drive(experiment: Any, journal: Journal, board: Board, stop: threading.Event) -> None:
        name = f"{experiment.name.removeprefix('table-')}/{experiment.seed}"
        begun.append(name)
        if (journal.folder.parents[2] / "broken").is_file() and "text.none" in name:
            raise RuntimeError("out of memory")
        length = {"quiet": 20.0, "still": 10.0}.get(name.partition("/")[0], 30.0)
        journal.record_evaluation(2, [{"peer": "peer-00", "n": 100, "success_n": 100}])
        journal.write_summary(summary(0.5 + experiment.seed / 10, length, seed=experiment.seed))
        (journal.checkpoints / "round-00002").mkdir(parents=True)

    monkeypatch.setattr(study_module, "drive", drive)
    monkeypatch.setattr(study_module, "render_run", lambda folder: (folder / "report.html").write_text(""))
    return begun


def go(study: Any, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / STUDY_CONFIG).write_text(to_yaml(study))
    run_study(study, folder, "turncoat run table", Board(), threading.Event())


def rows_of(folder: Path) -> dict[tuple[str, int], Any]:
    rows = json.loads((folder / STUDY).read_text())["rows"]
    return {(row["arm"], row["seed"]): row["summary"] for row in rows}


def test_each_arm_has_the_baseline_of_its_own_level_and_seed(tmp_path: Path, driven: list[str]) -> None:
    """Accuracy and length without attack, of the task and topology that the attack needs."""
    go(parse({**TREE, "seeds": [0, 1]}), tmp_path / "s")
    rows = rows_of(tmp_path / "s")
    assert list(rows) == [(arm, seed) for arm in ARMS for seed in (0, 1)]
    assert rows["text.support", 1]["baseline"] == {"clean_accuracy": 0.6, "length_mean": 20}
    assert rows["text.support", 1]["victim"]["length_ratio"] == 1.5
    assert rows["half.none", 0]["baseline"] == {"clean_accuracy": 0.5, "length_mean": 10}
    assert rows["half.none", 0]["victim"]["length_ratio"] == 3
    assert rows["quiet", 0]["baseline"] == {"clean_accuracy": None}
    kept = json.loads((tmp_path / "s" / path_of("half.none", 0) / "summary.json").read_text())
    assert kept == rows["half.none", 0]
    study = json.loads((tmp_path / "s" / STUDY).read_text())
    assert study["skipped"] == {"half.support": "no need"}
    assert study["grid"] == {"attack": ["text", "half"], "defence": ["none", "support"]}


def test_more_seeds_and_arms_cost_no_more_than_their_runs(tmp_path: Path, driven: list[str]) -> None:
    """Finished before, the study is not so once it is wider, by its file or by a second `run`."""
    folder = tmp_path / "s"
    go(parse(TREE), folder)
    assert driven == [f"{arm}/0" for arm in ARMS]
    driven.clear()
    wider = parse({**TREE, "seeds_of": {"text.none": [7]}, "skip": {}})
    assert finished(parse(TREE), folder)
    assert not finished(wider, folder)
    widen(wider, folder)
    assert (folder / STUDY_CONFIG).read_text() == to_yaml(wider)
    go(wider, folder)
    assert sorted(driven) == ["half.support/0", "quiet/7", "text.none/7"]
    assert finished(wider, folder)
    assert rows_of(folder)["text.none", 7]["baseline"]["clean_accuracy"] == pytest.approx(1.2)


def test_resume_and_run_see_that_a_study_is_wider(
    tmp_path: Path, driven: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study.json from before does not pass for the whole."""
    folder = tmp_path / "s"
    go(parse(TREE), folder)
    (folder / "report.html").write_text("")
    assert resume(folder) == folder, "nothing to do"

    def stop(*_: Any) -> None:
        raise AssertionError("on with it")

    monkeypatch.setattr("turncoat.jobs.launch.joined", stop)
    wider = parse({**TREE, "seeds": [0, 1]})
    with pytest.raises(AssertionError, match="on with it"):
        run(wider, folder, "turncoat run wider")
    with pytest.raises(AssertionError, match="on with it"):
        resume(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "other"}, "holds the study 'table': allowed is 'other'"),
        ({"experiment": {**TREE["experiment"], "rounds": 3}}, "rounds is 3, allowed is the run's 2"),
    ],
    ids=["name", "experiment"],
)
def test_another_study_is_kept_out(
    tmp_path: Path, driven: list[str], changes: dict[str, Any], words: str
) -> None:
    """Half of one study and half of another make no table; the folder's own stays as it was."""
    folder = tmp_path / "s"
    go(parse(TREE), folder)
    before = (folder / STUDY_CONFIG).read_text()
    with pytest.raises(BadInput, match=words):
        widen(parse({**TREE, **changes}), folder)
    assert (folder / STUDY_CONFIG).read_text() == before


def test_a_run_that_always_fails_does_not_stop_the_others_for_ever(tmp_path: Path, driven: list[str]) -> None:
    """The first failure ends the study; resumed, it does all the others before it tries that run again."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "broken").touch()
    for expected in (["quiet/0", "still/0", "text.none/0"], ["text.support/0", "half.none/0", "text.none/0"]):
        driven.clear()
        with pytest.raises(RuntimeError, match="out of memory"):
            go(parse(TREE), folder)
        assert driven == expected
    assert "out of memory" in (folder / path_of("text.none", 0) / FAILURE).read_text()
    driven.clear()
    (folder / "broken").unlink()
    go(parse(TREE), folder)
    assert driven == ["text.none/0"]
    assert not (folder / path_of("text.none", 0) / FAILURE).exists()
    assert finished(parse(TREE), folder)


def test_a_stopped_study_begins_no_run(tmp_path: Path, driven: list[str]) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CalledOff):
        run_study(parse(TREE), tmp_path, "", Board(), stop)
    assert driven == []


def test_an_unfinished_study_has_a_table(tmp_path: Path, driven: list[str], command: Any) -> None:
    """After two days of five, one wants to look."""
    folder = tmp_path / "s"
    go(parse(TREE), folder)
    wider = parse({**TREE, "seeds": [0, 1]})
    widen(wider, folder)
    write_study(wider, folder)
    assert not finished(wider, folder)
    rows = rows_of(folder)
    assert rows["text.none", 0]
    assert rows["text.none", 1] is None
    code, _, errors = command("report", folder, "--save", tmp_path / "page")
    assert code == 0, errors
    assert "| half | 10.0 % [5.5, 17.4] | –<sup>1</sup> |" in (tmp_path / "page/grid.md").read_text()
    assert "1 of 2" in (folder / "report.html").read_text()


@pytest.mark.parametrize("keep", ["all", "results"])
def test_checkpoints_of_finished_runs_may_go(tmp_path: Path, driven: list[str], keep: str) -> None:
    """They are most of what a table of many runs weighs."""
    folder = tmp_path / "s"
    go(parse({**TREE, "keep": keep}), folder)
    found = list(folder.glob("arms/*/*/checkpoints/round-*"))
    assert len(found) == (len(ARMS) if keep == "all" else 0)
