"""One config is one result: twice, interrupted, killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
from rich.console import Console

from turncoat.jobs.decentralised import drive
from turncoat.jobs.progress import Board
from turncoat.platform.config.loading import to_yaml
from turncoat.platform.journal.journal import METRICS, Journal
from turncoat.platform.journal.metrics import without_times

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def train(experiment: Any, folder: Path) -> Journal:
    journal = Journal.create(folder, to_yaml(experiment), {})
    drive(experiment, journal, Board(Console(file=StringIO())), Event())
    return journal


def lines(folder: Path) -> list[str]:
    """What a run's metrics say, less the times."""
    return [without_times(line) for line in (folder / METRICS).read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tiny: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of six rounds in one go."""
    return train(tiny(), tmp_path_factory.mktemp("runs") / "whole").folder


def test_two_runs_write_the_same_bytes(tiny: Callable[..., Any], whole: Path, tmp_path: Path) -> None:
    """Without this, no difference between two runs says anything about attack or defence."""
    again = train(tiny(), tmp_path / "again").folder
    assert lines(again) == lines(whole)
    assert len(lines(whole)) == 8
    for name in ("completions.parquet", "checkpoints/round-00006/peer-00/model.safetensors"):
        assert (again / name).read_bytes() == (whole / name).read_bytes()


def test_every_policy_of_a_heterogeneous_swarm_has_its_line(tiny: Callable[..., Any], tmp_path: Path) -> None:
    """Who is poisoned, and how fast, is asked of each size of policy."""
    journal = train(tiny("peers.policies=[tiny-0.3m,tiny-1m]", "rounds=2"), tmp_path / "run")
    kept = [(line["kind"], line["round"], line["peer"]) for line in journal.metrics().lines]
    moments = [("evaluation", 0), ("round", 1), ("round", 2), ("evaluation", 2)]
    assert kept == [(*moment, peer) for moment in moments for peer in ("peer-00", "peer-01")]
    assert journal.summary()["victim"]["evaluated"] == 40


class Session:
    """A `turncoat` command in a session and process group of its own, as in a terminal of its own."""

    def __init__(self, *arguments: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turncoat.jobs.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until_round(self, folder: Path, round: int) -> None:
        """Wait until the metrics hold a round, and note all processes of the run."""
        path, wanted = folder / METRICS, f'"kind": "round", "round": {round},'
        while not (path.exists() and wanted in path.read_text()):
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.01)
        self.family = psutil.Process(self.process.pid).children(recursive=True)
        assert any("PolicyPeer" in " ".join(one.cmdline()) for one in self.family)

    def end(self, signal_number: int) -> tuple[int, str, float]:
        """Signal the group; (exit code, stderr, seconds until it had ended)."""
        start = time.monotonic()
        os.killpg(self.process.pid, signal_number)
        _, errors = self.process.communicate(timeout=60)
        seconds = time.monotonic() - start
        _, alive = psutil.wait_procs(self.family, timeout=30)
        assert not alive
        return self.process.returncode, errors, seconds


@pytest.fixture
def recipe(tiny: Callable[..., Any], tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(to_yaml(tiny()))
    return str(path)


@pytest.fixture
def sessions() -> Iterator[Callable[..., Session]]:
    started: list[Session] = []

    def start(*arguments: str) -> Session:
        started.append(Session(*arguments))
        return started[-1]

    yield start
    for session in started:
        if session.process.poll() is None:
            os.killpg(session.process.pid, signal.SIGKILL)


def test_a_run_stopped_and_killed_ends_as_if_nothing_had_happened(
    sessions: Callable[..., Session], recipe: str, whole: Path, tmp_path: Path
) -> None:
    """Ctrl-C after round 1, `kill -9` after round 3, each resumed: the same metrics and weights."""
    folder = tmp_path / "run"
    first = sessions("run", recipe, "--out", str(folder))
    first.until_round(folder, 1)
    code, errors, seconds = first.end(signal.SIGINT)
    assert code == 130
    assert errors.splitlines()[-1] == f"stopped; go on with: turncoat resume {folder}"
    assert seconds < 30  # two or three on an idle machine

    second = sessions("resume", str(folder))
    second.until_round(folder, 3)
    assert second.end(signal.SIGKILL)[0] == -signal.SIGKILL
    assert Journal(folder).summary() is None
    assert len(lines(whole)) > Journal(folder).latest_checkpoint().round > 0

    third = sessions("resume", str(folder))
    out, _ = third.process.communicate(timeout=120)
    assert (third.process.returncode, out.splitlines()[-1]) == (0, str(folder))
    assert lines(folder) == lines(whole)
    kept = [Journal(path).latest_checkpoint().state["weights_sha256"] for path in (folder, whole)]
    assert kept[0] == kept[1]
