"""Start or resume what a recipe describes, and leave a folder behind that can be resumed whatever happens."""

import hashlib
import os
import signal
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from turncoat.actors.cluster import connect
from turncoat.actors.waiting import CalledOff
from turncoat.jobs.decentralised import drive
from turncoat.jobs.paths import with_absolute_paths
from turncoat.jobs.progress import Board
from turncoat.jobs.study import STUDY_CONFIG, run_study
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.config.study import Study
from turncoat.platform.journal import atomic
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import EXPERIMENT, Journal
from turncoat.platform.report.run import render_run
from turncoat.platform.report.study import render_study


def run(described: Experiment | Study, out: Path | None, command: str) -> Path:
    """Run an experiment or a study into `out` (default: a new folder in runs/); returns its absolute path.

    Raises BadInput for a folder that is not new, KeyboardInterrupt(folder) after Ctrl-C or SIGTERM.
    """
    if inside_job() and (out is None or not out.is_absolute()):
        raise BadInput(
            f"--out is {str(out) if out else 'not given'}: inside a Ray job the working directory is thrown away, "
            "allowed is an absolute path (on storage that all nodes share)"
        )
    described = parse(with_absolute_paths(described.model_dump(mode="json")))
    folder = (out or Path("runs") / f"{described.name}-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    if isinstance(described, Study):
        if folder.exists() and any(folder.iterdir()):
            raise BadInput(f"--out is {str(folder)!r}, which is not empty: name a new folder, or resume the study")
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(folder / STUDY_CONFIG, to_yaml(described))
        return study(described, folder, command)
    check(described)
    try:
        journal = Journal.create(folder, to_yaml(described), environment(command))
    except ValueError as error:
        raise BadInput(f"--out: {error}") from error
    return single(described, journal)


def resume(folder: Path, command: str = "turncoat resume") -> Path:
    """Go on with a run or study from what its folder holds; a finished one is left as it is."""
    import yaml

    folder = folder.resolve()
    if (folder / STUDY_CONFIG).is_file():
        return study(parse(yaml.safe_load((folder / STUDY_CONFIG).read_text())), folder, command)
    if not (folder / EXPERIMENT).is_file():
        raise BadInput(f"run is {str(folder)!r}: it holds no {EXPERIMENT}, allowed is the folder of a run or study")
    journal = Journal.open(folder)
    if journal.summary() is not None:
        return folder
    return single(parse(journal.experiment()), journal)


def single(experiment: Experiment, journal: Journal) -> Path:
    connect(experiment.hardware.address, experiment.hardware.cpus_per_peer)
    until_stopped(journal.folder, lambda board, stop: drive(experiment, journal, run_name(journal), board, stop))
    render_run(journal.folder)
    return journal.folder


def study(described: Study, folder: Path, command: str) -> Path:
    for arm in described.arms:
        check(described.run_of(arm, described.seeds[0]))
    hardware = described.run_of(next(iter(described.arms)), described.seeds[0]).hardware
    connect(hardware.address, hardware.cpus_per_peer * described.concurrency)
    until_stopped(folder, lambda board, stop: run_study(described, folder, command, board, stop))
    render_study(folder)
    return folder


def check(experiment: Experiment) -> None:
    """Find bad input before anything starts: missing data files, unknown policies, impossible defences."""
    from turncoat.platform.policies.load import find_policy
    from turncoat.platform.registry import TASKS

    TASKS.build(experiment.task)
    for peer in range(experiment.peers.count):
        find_policy(experiment.policy_of(peer))


def until_stopped(folder: Path, work: Callable[[Board, threading.Event], Any]) -> None:
    """Do the work; Ctrl-C and SIGTERM (`ray job stop`) end it in an orderly way, with everything so far kept."""
    stop = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with Board() as board:
            work(board, stop)
    except CalledOff:
        raise KeyboardInterrupt(folder) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_name(journal: Journal) -> str:
    """A name for the run's actors that no other run in the cluster has: its own, and a mark of its folder."""
    mark = hashlib.sha256(str(journal.folder).encode()).hexdigest()[:6]
    return f"{journal.experiment()['name']}-{mark}"


def inside_job() -> bool:
    """Whether this process is the entry point of a submitted Ray job."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ
