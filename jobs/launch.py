"""Start or resume what a recipe describes, and leave a folder behind that can be resumed whatever happens."""

import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from turncoat.actors.waiting import CalledOff
from turncoat.jobs.check import check, inside_job, joined
from turncoat.jobs.drive import drive
from turncoat.jobs.paths import with_absolute_paths
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import STUDY_CONFIG
from turncoat.jobs.study import finished, run_study, widen
from turncoat.platform.calibration import calibrated, settled
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.loading import load, parse, to_yaml
from turncoat.platform.config.study import Study
from turncoat.platform.journal import atomic
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, SUMMARY, Journal
from turncoat.platform.report.run import render_run
from turncoat.platform.report.study import STUDY, render_study


def run(described: Experiment | Federated | Study, out: Path | None, command: str) -> Path:
    """Run an experiment or a study into `out` (default: a new folder in runs/); returns its absolute path.

    A study may go into the folder of its own earlier state, with arms or seeds added: what is finished there
    is not run again. Raises BadInput for any other folder that is not new and for what `check` refuses, and
    then leaves no folder behind; KeyboardInterrupt(folder) after Ctrl-C or SIGTERM.
    """
    described = parse(with_absolute_paths(described.model_dump(mode="json")))
    widened = isinstance(described, Study) and out is not None and (out / STUDY_CONFIG).is_file()
    folder = out.resolve() if widened and out else new_folder(described.name, out)
    check(described)
    if isinstance(described, Experiment):
        described = calibrated(described)
    elif isinstance(described, Study) and widened:
        widen(described, folder)
    with joined(described):
        if isinstance(described, Study):
            folder.mkdir(parents=True, exist_ok=True)
            atomic.write_text(folder / STUDY_CONFIG, to_yaml(described))
        else:
            Journal.create(folder, to_yaml(described), environment(command))
        with kept_in(folder):
            work(described, folder, command)
    return folder


def resume(folder: Path, command: str = "turncoat resume") -> Path:
    """Go on with a run or study from what its folder holds; a finished one is left as it is.

    Raises as `run` does, and BadInput for a folder that holds neither, or whose config was edited since its
    last checkpoint.
    """
    folder = folder.resolve()
    config = next((path for name in (STUDY_CONFIG, EXPERIMENT) if (path := folder / name).is_file()), None)
    if config is None:
        raise BadInput(
            f"run is {str(folder)!r}: it holds no {EXPERIMENT}, allowed is the folder of a run or study"
        )
    done = (folder / SUMMARY).is_file()
    if not done:
        described = load(str(config))
        done = isinstance(described, Study) and finished(described, folder)
    if done:
        if not (folder / REPORT).is_file():
            render(folder)
        return folder
    if not isinstance(described, Study):
        Journal(folder).latest_checkpoint()
    check(settled(described) if isinstance(described, Experiment) else described)
    with kept_in(folder), joined(described):
        work(described, folder, command)
    return folder


def work(described: Experiment | Federated | Study, folder: Path, command: str) -> None:
    """Do what is not done yet, and write the report."""
    if isinstance(described, Study):
        until_stopped(lambda board, stop: run_study(described, folder, command, board, stop))
    else:
        until_stopped(lambda board, stop: drive(described, Journal(folder), board, stop))
    render(folder)


def render(folder: Path) -> None:
    """Write the report of a finished run or study."""
    if (folder / STUDY).is_file():
        render_study(folder)
    else:
        render_run(folder)


def new_folder(name: str, out: Path | None) -> Path:
    """The absolute path of a folder for a new run. Raises BadInput if it cannot be one."""
    if inside_job() and (out is None or not out.is_absolute()):
        raise BadInput(
            f"--out is {str(out) if out else 'not given'}: inside a Ray job the working directory is thrown "
            "away, allowed is an absolute path (on storage that all nodes share)"
        )
    folder = (out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(
            f"--out is {str(folder)!r}, which is not empty: allowed is a new folder, or `turncoat resume`"
        )
    above = next(path for path in folder.parents if path.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise BadInput(f"--out is {str(folder)!r}: allowed is a place where {str(above)!r} can be written to")
    return folder


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Tell whoever catches an interrupt or a failure in which folder the work so far lies."""
    try:
        yield
    except (CalledOff, KeyboardInterrupt):
        raise KeyboardInterrupt(folder) from None
    except Exception as error:
        error.add_note(f"go on with: turncoat resume {shlex.quote(str(folder))}")
        raise


def until_stopped(do: Callable[[Board, threading.Event], Any]) -> None:
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
            do(board, stop)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
