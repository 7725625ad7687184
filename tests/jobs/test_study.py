"""Many runs side by side: one that fails says why and stops the rest; what is finished is not run again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turncoat.actors.waiting import PeerTimeout
from turncoat.jobs.launch import resume, run
from turncoat.jobs.runs import STUDY_CONFIG
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse
from turncoat.platform.journal.journal import METRICS, Journal
from turncoat.platform.report.study import STUDY

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def study(tiny: Callable[..., Any]) -> Any:
    experiment = tiny("rounds=2").model_dump(mode="json")
    del experiment["name"], experiment["seed"]
    arms = {
        "clean": ["attack=none", "peers.malicious=0"],
        # Its last evaluation, of which only this arm has much, cannot be done in time.
        "slow": ["evaluation.final_completions=2000", "hardware.deadline_seconds=0.01"],
    }
    tree = {"kind": "study", "name": "both", "experiment": experiment, "arms": arms, "baseline": "clean"}
    return parse(tree)


@pytest.fixture(scope="module")
def failed(study: Any, local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PeerTimeout]:
    """The folder of a study of which one arm failed, and how it failed."""
    folder = tmp_path_factory.mktemp("studies") / "both"
    with pytest.raises(PeerTimeout) as failure:
        run(study, folder, "turncoat run both")
    return folder, failure.value


def test_the_first_cause_is_reported(failed: tuple[Path, PeerTimeout]) -> None:
    """The arm that failed, not the arm that was called off because of it; and what to type next."""
    folder, failure = failed
    assert "0.01 s (hardware.deadline_seconds) for an evaluation" in str(failure)
    assert "missing peer-00" in str(failure)
    assert failure.__notes__ == [f"go on with: turncoat resume {folder}"]
    assert not (folder / STUDY).exists()


def test_resume_runs_what_is_missing_and_no_more(failed: tuple[Path, PeerTimeout]) -> None:
    """A deadline that was too short is lengthened in the study's config, and only the rest is computed."""
    folder, _ = failed
    config = folder / STUDY_CONFIG
    config.write_text(config.read_text().replace("deadline_seconds=0.01", "deadline_seconds=600"))
    assert resume(folder) == folder
    rows = json.loads((folder / STUDY).read_text())["rows"]
    assert [row["arm"] for row in rows] == ["clean", "slow"]
    assert rows[0]["summary"]["attack"]["kind"] == "none"
    quiet, victim = (row["summary"]["victim"] for row in rows)
    assert rows[1]["summary"]["baseline"] == {key: quiet[key] for key in ("clean_accuracy", "length_mean")}
    assert victim["length_ratio"] == victim["length_mean"] / quiet["length_mean"]
    for row in rows:
        assert (folder / row["run"] / "report.html").is_file()

    (folder / STUDY).unlink()
    before = {row["run"]: (folder / row["run"] / METRICS).stat().st_mtime_ns for row in rows}
    resume(folder)
    assert (folder / STUDY).is_file()
    assert before == {run: (folder / run / METRICS).stat().st_mtime_ns for run in before}


def test_a_study_is_widened_in_its_folder(study: Any, failed: tuple[Path, PeerTimeout]) -> None:
    """A seed more costs the runs of that seed, not the whole table again."""
    folder, _ = failed
    tree = {**study.model_dump(mode="json"), "seeds": [0, 1]}
    tree["arms"] = {"clean": study.arms["clean"]}
    before = (folder / "arms/clean/seed-0" / METRICS).stat().st_mtime_ns
    assert run(parse(tree), folder, "turncoat run wider") == folder
    rows = json.loads((folder / STUDY).read_text())["rows"]
    assert [(row["arm"], row["seed"]) for row in rows] == [("clean", 0), ("clean", 1)]
    assert all(row["summary"] for row in rows)
    assert (folder / "arms/clean/seed-0" / METRICS).stat().st_mtime_ns == before


def test_a_run_that_somebody_works_on_is_left_alone(failed: tuple[Path, PeerTimeout]) -> None:
    """Two who resume one folder at a time would write one file."""
    journal = Journal(failed[0] / "arms/clean/seed-0")
    busy = pytest.raises(BadInput, match="another process is working on it")
    with journal.writing(), busy, Journal(journal.folder).writing():
        pass
