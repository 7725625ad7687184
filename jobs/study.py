"""Run every arm and seed of a study, a few at a time, and gather their summaries."""

import json
import shutil
import threading
import traceback
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from turncoat.actors.waiting import CalledOff
from turncoat.jobs.drive import drive
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import STUDY_CONFIG, path_of
from turncoat.platform.calibration import calibrated
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import load, to_yaml
from turncoat.platform.config.study import Study
from turncoat.platform.journal import atomic
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, STUDY, SUMMARY, Journal
from turncoat.platform.report.run import render_run

FAILURE = "failure.txt"
"""In the folder of a run that failed: its traceback, until it succeeds."""


def run_study(study: Study, folder: Path, command: str, board: Board, stop: threading.Event) -> None:
    """Run what is not finished, `concurrency` at a time, in threads: a driver only waits and writes.

    The first failure calls the other runs off and is raised; what they finished is kept and resumable. Runs
    that failed before come last: one that always fails keeps no other from being done.
    """
    runs = sorted(study.runs(), key=lambda run: (folder / path_of(*run) / FAILURE).exists())
    with ThreadPoolExecutor(study.concurrency) as pool:
        futures = [pool.submit(run_arm, study, *run, folder, command, board, stop) for run in runs]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        failures = [error for future in done if (error := future.exception())]
        if failures:
            stop.set()
            raise next((error for error in failures if not isinstance(error, CalledOff)), failures[0])
    write_study(study, folder)


def run_arm(
    study: Study, arm: str, seed: int, folder: Path, command: str, board: Board, stop: threading.Event
) -> None:
    """One run of the study, from the start or its last checkpoint, unless it is finished."""
    if stop.is_set():
        raise CalledOff(f"{arm}, seed {seed}")
    where = folder / path_of(arm, seed)
    experiment = calibrated(study.run_of(arm, seed))
    if (where / EXPERIMENT).is_file():
        journal = Journal.open(where)
        journal.same_experiment(to_yaml(experiment))
    else:
        journal = Journal.create(where, to_yaml(experiment), environment(command))
    if journal.summary() is None:
        try:
            drive(experiment, journal, board, stop)
        except CalledOff:
            raise
        except Exception:
            stop.set()  # at once, so that this thread begins no other run
            atomic.write_text(where / FAILURE, traceback.format_exc())
            raise
        (where / FAILURE).unlink(missing_ok=True)
    if not (where / REPORT).is_file():
        render_run(where)
    if study.keep == "results" and journal.checkpoints.is_dir():
        shutil.rmtree(journal.checkpoints)


def finished(study: Study, folder: Path) -> bool:
    """Whether `study.json` holds a summary of every run: nothing was added to the study since."""
    if not (folder / STUDY).is_file():
        return False
    rows = json.loads((folder / STUDY).read_text())["rows"]
    done = {(row["arm"], row["seed"]) for row in rows if row["summary"]}
    return done >= set(study.runs())


def widen(study: Study, folder: Path) -> None:
    """Take up `study` in the folder of an earlier state of it: arms and seeds were added, or left out.

    Raises BadInput when the folder's is another study, or a run in it is of another experiment.
    """
    before = load(str(folder / STUDY_CONFIG))
    if before.name != study.name:
        raise BadInput(
            f"--out is {str(folder)!r}, which holds the study {before.name!r}: allowed is {study.name!r}, "
            "widened, or a new folder"
        )
    for arm, seed in study.runs():
        where = folder / path_of(arm, seed)
        if (where / EXPERIMENT).is_file():
            Journal.open(where).same_experiment(to_yaml(calibrated(study.run_of(arm, seed))))
    atomic.write_text(folder / STUDY_CONFIG, to_yaml(study))


def gather(folder: Path) -> None:
    """Write `study.json` anew from what is finished of the study in `folder`."""
    write_study(load(str(folder / STUDY_CONFIG)), folder)


def write_study(study: Study, folder: Path) -> None:
    """Put each run's baseline into its summary, and all summaries into `study.json`, as far as they are
    there.

    The baseline is the run of the same seed of the arm's baseline arm.
    """
    rows: list[dict[str, Any]] = []
    summaries = {(arm, seed): summary_in(folder / path_of(arm, seed)) for arm, seed in study.runs()}
    for arm in study.all_arms:
        for seed in study.seeds_for(arm):
            summary = summaries[arm, seed]
            baseline = study.baseline_of(arm)
            reference = summaries[baseline, seed] if baseline is not None else None
            if summary and reference:
                compare_with(summary, reference)
                Journal(folder / path_of(arm, seed)).write_summary(summary)
            rows.append({"arm": arm, "seed": seed, "run": path_of(arm, seed), "summary": summary})
    content = {
        "name": study.name,
        "arms": list(study.all_arms),
        "seeds": sorted({seed for _, seed in study.runs()}),
        "grid": {factor: list(levels) for factor, levels in study.grid.items()},
        "skipped": study.skipped,
        "rows": rows,
    }
    atomic.write_text(folder / STUDY, json.dumps(content, indent=2, allow_nan=False) + "\n")


def compare_with(summary: dict[str, Any], baseline: dict[str, Any]) -> None:
    """Put what a run without attack came to, and the lengths' ratio, into `summary`."""
    victim, quiet = summary["victim"], baseline["victim"]
    summary["baseline"] = {key: quiet.get(key) for key in ("clean_accuracy", "length_mean")}
    if victim.get("length_mean") and quiet.get("length_mean"):
        victim["length_ratio"] = victim["length_mean"] / quiet["length_mean"]


def summary_in(run: Path) -> dict[str, Any] | None:
    return json.loads((run / SUMMARY).read_text()) if (run / SUMMARY).is_file() else None
