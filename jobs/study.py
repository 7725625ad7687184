"""Run every arm and seed of a study, a few at a time, and gather their summaries."""

import json
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from turncoat.actors.waiting import CalledOff
from turncoat.jobs.decentralised import drive
from turncoat.jobs.progress import Board
from turncoat.platform.config.loading import to_yaml
from turncoat.platform.config.study import Study
from turncoat.platform.journal import atomic
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, Journal
from turncoat.platform.report.run import render_run
from turncoat.platform.report.study import STUDY

STUDY_CONFIG = "study.yaml"


def run_study(study: Study, folder: Path, command: str, board: Board, stop: threading.Event) -> None:
    """Run what is not finished, `concurrency` at a time, in threads: a driver only waits and writes.

    The first failure calls the other runs off and is raised; what they finished is kept and resumable.
    """
    with ThreadPoolExecutor(study.concurrency) as pool:
        futures = [
            pool.submit(run_arm, study, arm, seed, folder, command, board, stop)
            for seed in study.seeds
            for arm in study.arms
        ]
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
    experiment = study.run_of(arm, seed)
    where = folder / path_of(arm, seed)
    if (where / EXPERIMENT).is_file():
        journal = Journal.open(where)
        journal.same_experiment(to_yaml(experiment))
        if journal.summary() is not None and (where / REPORT).is_file():
            return
    else:
        journal = Journal.create(where, to_yaml(experiment), environment(command))
    if journal.summary() is None:
        drive(experiment, journal, board, stop)
    render_run(where)


def write_study(study: Study, folder: Path) -> None:
    """Put each seed's baseline into the other arms' summaries, and all summaries into `study.json`."""
    rows: list[dict[str, Any]] = []
    for seed in study.seeds:
        reference = None
        if study.baseline is not None:
            reference = Journal.open(folder / path_of(study.baseline, seed)).summary()
        for arm in study.arms:
            journal = Journal.open(folder / path_of(arm, seed))
            summary = journal.summary()
            if summary is not None and reference is not None and arm != study.baseline:
                summary["baseline"] = {"clean_accuracy": reference["victim"]["clean_accuracy"]}
                journal.write_summary(summary)
            rows.append({"arm": arm, "seed": seed, "run": path_of(arm, seed), "summary": summary})
    content = {"name": study.name, "arms": list(study.arms), "seeds": study.seeds, "rows": rows}
    atomic.write_text(folder / STUDY, json.dumps(content, indent=2, allow_nan=False) + "\n")


def path_of(arm: str, seed: int) -> str:
    """Where a run of the study lies below its folder."""
    return f"arms/{arm}/seed-{seed}"
