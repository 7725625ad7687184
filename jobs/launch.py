"""Start or resume what a recipe describes, and leave a folder behind that can be resumed whatever happens."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from turncoat.actors.cluster import connect
from turncoat.actors.placement import refuse_too_large
from turncoat.actors.waiting import CalledOff
from turncoat.jobs.decentralised import drive
from turncoat.jobs.paths import with_absolute_paths
from turncoat.jobs.progress import Board
from turncoat.jobs.study import STUDY, STUDY_CONFIG, run_study
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import load, parse, to_yaml
from turncoat.platform.config.study import Study
from turncoat.platform.journal import atomic
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, Journal
from turncoat.platform.plan import arms_of, demand_of, own_node, shortage, weigh
from turncoat.platform.registry import TASKS
from turncoat.platform.report.run import render_run
from turncoat.platform.report.study import render_study


def run(described: Experiment | Study, out: Path | None, command: str) -> Path:
    """Run an experiment or a study into `out` (default: a new folder in runs/); returns its absolute path.

    Raises BadInput for a folder that is not new and for what `join` refuses, and then leaves no folder
    behind; KeyboardInterrupt(folder) after Ctrl-C or SIGTERM.
    """
    if inside_job() and (out is None or not out.is_absolute()):
        raise BadInput(
            f"--out is {str(out) if out else 'not given'}: inside a Ray job the working directory is thrown "
            "away, allowed is an absolute path (on storage that all nodes share)"
        )
    folder = (out or Path("runs") / f"{described.name}-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"--out is {str(folder)!r}, which is not empty: allowed is a new folder, or `turncoat resume`"
        )
    described = parse(with_absolute_paths(described.model_dump(mode="json")))
    join(described)
    if isinstance(described, Study):
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(folder / STUDY_CONFIG, to_yaml(described))
        return work_on_study(described, folder, command)
    return work_on_run(described, Journal.create(folder, to_yaml(described), environment(command)))


def resume(folder: Path, command: str = "turncoat resume") -> Path:
    """Go on with a run or study from what its folder holds; a finished one is left as it is.

    Raises as `run` does, and BadInput for a folder that holds neither, or whose config was edited since its
    last checkpoint.
    """
    folder = folder.resolve()
    if (folder / STUDY_CONFIG).is_file():
        described = load(str(folder / STUDY_CONFIG))
        if not (folder / STUDY).is_file():
            join(described)
            work_on_study(described, folder, command)
        return folder
    if not (folder / EXPERIMENT).is_file():
        raise BadInput(
            f"run is {str(folder)!r}: it holds no {EXPERIMENT}, allowed is the folder of a run or study"
        )
    experiment, journal = load(str(folder / EXPERIMENT)), Journal.open(folder)
    if journal.summary() is None:
        journal.latest_checkpoint()
        join(experiment)
        return work_on_run(experiment, journal)
    if not (folder / REPORT).is_file():
        render_run(folder)
    return folder


def join(described: Experiment | Study) -> None:
    """Find what is wrong before anything is written, then start or join Ray.

    Raises BadInput for missing data files, unknown policies, and resources that the machine or cluster does
    not have.
    """
    from turncoat.platform.policies.load import find_policy

    arms, bundles = arms_of(described), demand_of(described)
    for experiment in arms.values():
        TASKS.build(experiment.task)
        for peer in range(experiment.peers.count):
            find_policy(
                experiment.policy_of(peer),
                "peers.policies" if experiment.peers.policies else "policy.name_or_path",
            )
    hardware = next(iter(arms.values())).hardware
    for arm, experiment in arms.items():
        if experiment.hardware.address != hardware.address:
            raise BadInput(
                f"arms.{arm}: hardware.address is {experiment.hardware.address!r}: allowed is one for all "
                f"arms, {hardware.address!r}"
            )
    if hardware.address == "local":
        if inside_job():
            raise BadInput(
                "hardware.address is 'local' inside a Ray job: allowed is 'auto', the job's own cluster"
            )
        own = own_node(bundles)
        if short := shortage(weigh(bundles, [own])):
            raise BadInput(short)
        connect("local", own["CPU"])
    else:
        connect(hardware.address, cpus=0)
        if not hardware.wait_seconds:
            refuse_too_large(bundles)


def work_on_run(experiment: Experiment, journal: Journal) -> Path:
    with kept_in(journal.folder):
        until_stopped(lambda board, stop: drive(experiment, journal, board, stop))
        render_run(journal.folder)
    return journal.folder


def work_on_study(described: Study, folder: Path, command: str) -> Path:
    with kept_in(folder):
        until_stopped(lambda board, stop: run_study(described, folder, command, board, stop))
        render_study(folder)
    return folder


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Tell whoever catches an interrupt or a failure in which folder the work so far lies."""
    try:
        yield
    except (CalledOff, KeyboardInterrupt):
        raise KeyboardInterrupt(folder) from None
    except Exception as error:
        error.add_note(f"go on with: turncoat resume {folder}")
        raise


def until_stopped(work: Callable[[Board, threading.Event], Any]) -> None:
    """Do the work; Ctrl-C and SIGTERM (`ray job stop`) end it by CalledOff, with everything so far kept.

    The first Ctrl-C is heard within a moment; a second one does not wait for that.
    """
    stop = threading.Event()

    def heard(number: int, _: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with Board() as board:
            work(board, stop)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def inside_job() -> bool:
    """Whether this process is the entry point of a submitted Ray job."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ
