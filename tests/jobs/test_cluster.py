"""On a cluster that somebody else started: jobs, names, 64 peers, and nothing left behind."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray.job_submission import JobStatus, JobSubmissionClient
from ray.util.state import list_actors, list_placement_groups

from turncoat.platform.config.loading import to_yaml
from turncoat.platform.journal.journal import Journal

pytestmark = [pytest.mark.ray, pytest.mark.slow]

BIN = Path(sys.executable).parent


class Cluster:
    """`ray start --head` with ports and a folder of its own: it disturbs no other Ray on the machine."""

    def __init__(self, folder: str):
        gcs, dashboard, client = free_ports(3)
        self.dashboard = f"http://127.0.0.1:{dashboard}"
        # Jobs find `turncoat` on the PATH that Ray was started with.
        self.environment = {
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "RAY_TMPDIR": folder,
            "RAY_AUTH_MODE": "disabled",
            "RAY_ADDRESS": f"127.0.0.1:{gcs}",
        }
        options = {
            "port": gcs,
            "node-ip-address": "127.0.0.1",
            "dashboard-port": dashboard,
            "ray-client-server-port": client,
            "dashboard-agent-listen-port": 0,
            "min-worker-port": 0,
            "max-worker-port": 0,
            "num-cpus": 4,
            "temp-dir": folder,
        }
        self.commands: list[subprocess.Popen[str]] = []
        starting = {key: value for key, value in self.environment.items() if key != "RAY_ADDRESS"}
        self.process = subprocess.Popen(
            [
                BIN / "ray",
                "start",
                "--head",
                "--block",
                *(f"--{key}={value}" for key, value in options.items()),
            ],
            env=starting,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        for command in self.commands:
            command.kill()
        family = [psutil.Process(self.process.pid), *self.family()]
        self.process.terminate()
        _, alive = psutil.wait_procs(family, timeout=20)
        for process in alive:
            process.kill()

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def memory(self) -> float:
        """Gigabytes of all its processes, shared pages counted once."""
        total = 0
        for process in self.family():
            try:
                total += process.memory_full_info().pss
            except psutil.Error:  # it has ended meanwhile
                continue
        return total / 1e9

    def submit(self, *command: str) -> str:
        """Submit a job; its id. A dashboard that has just started answers with 500: it is asked again."""
        for _ in range(20):
            done = subprocess.run(
                [BIN / "ray", "job", "submit", "--no-wait", "--", "turncoat", *command],
                env={**self.environment, "RAY_API_SERVER_ADDRESS": self.dashboard},
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                return next(word for word in done.stdout.split("'") if word.startswith("raysubmit_"))
            time.sleep(1)
        raise RuntimeError(done.stdout + done.stderr)

    def jobs(self) -> JobSubmissionClient:
        return JobSubmissionClient(self.dashboard)

    def run(self, *arguments: str) -> subprocess.Popen[str]:
        """A command in a terminal on the head node."""
        command = subprocess.Popen(
            [BIN / "turncoat", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.commands.append(command)
        return command

    def actors(self) -> dict[str, int]:
        """Names and process ids of living actors in turncoat's namespace."""
        found = list_actors(self.dashboard, filters=[("state", "=", "ALIVE")], limit=1000)
        return {one.name: one.pid for one in found if one.ray_namespace == "turncoat"}

    def is_clean(self) -> bool:
        """Whether no run holds anything."""
        groups = {group.state for group in list_placement_groups(self.dashboard)}
        return not self.actors() and groups <= {"REMOVED"}


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(condition: Callable[[], Any], seconds: float = 200, pause: float = 0.2) -> Any:
    """What the condition gives once it gives something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(pause)
    return found


def rounds_in(folder: Path) -> int:
    return len([line for line in Journal(folder).metrics().lines if line["kind"] == "round"])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Sockets lie below it, and their names may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="tc-", ignore_cleanup_errors=True) as folder:
        started = Cluster(folder)
        yield started
        started.stop()


@pytest.fixture
def recipe(tiny: Callable[..., Any], tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(to_yaml(tiny("hardware.address=auto", "rounds=500")))
    return str(path)


@pytest.mark.timeout(600)
def test_64_peers_as_a_job(cluster: Cluster, recipe: str, tmp_path: Path) -> None:
    """On a laptop, in one command: 64 peers, each a named actor, two rounds, within ten gigabytes."""
    out = tmp_path / "run"
    many = ("topology=vertical", "peers.count=64", "peers.malicious=16", "prompts_per_round=64", "rounds=2")
    start = time.monotonic()
    job = cluster.submit("run", recipe, *many, "--out", str(out))
    names: dict[str, int] = {}
    peak = 0.0
    while not (status := cluster.jobs().get_job_status(job)).is_terminal():
        peak = max(peak, cluster.memory())
        if len(names) < 64:
            names = cluster.actors()
        time.sleep(3)
    print(f"64 peers: {time.monotonic() - start:.0f} s, {peak:.1f} GB")
    assert status == JobStatus.SUCCEEDED, cluster.jobs().get_job_logs(job)
    assert cluster.jobs().get_job_logs(job).splitlines()[-1] == str(out)
    roles = ["peer", *["twin"] * 47, *["adversary"] * 16]
    mark = min(names).partition("/")[0]
    assert sorted(names) == [f"{mark}/peer-{i:02d}/{role}" for i, role in enumerate(roles)]
    assert mark.startswith("tiny-")
    assert rounds_in(out) == 2
    assert peak < 10
    until(cluster.is_clean, 30)


def test_two_runs_at_once_one_dies_one_is_interrupted(cluster: Cluster, recipe: str, tmp_path: Path) -> None:
    """Runs of one config do not meet in the cluster; a peer's death is one line and ends its run alone."""
    folders = [tmp_path / "a", tmp_path / "b"]
    commands = [cluster.run("run", recipe, "--out", str(folder)) for folder in folders]
    until(lambda: all(map(rounds_in, folders)))
    actors = cluster.actors()
    assert len(actors) == 8
    victim, pid = next((name, pid) for name, pid in sorted(actors.items()) if name.endswith("/peer"))
    os.kill(pid, signal.SIGKILL)
    dead = until(lambda: [i for i in range(2) if commands[i].poll() is not None])[0]
    alive = 1 - dead
    errors = commands[dead].communicate()[1].splitlines()[-1]
    assert commands[dead].returncode == 1
    assert errors.startswith(f"error: PeerDied: {victim} died during ")
    assert f"go on with: turncoat resume {folders[dead]}" in errors

    seen = rounds_in(folders[alive])
    until(lambda: rounds_in(folders[alive]) > seen + 1)
    os.killpg(commands[alive].pid, signal.SIGINT)
    errors = commands[alive].communicate(timeout=60)[1].splitlines()[-1]
    assert (commands[alive].returncode, errors) == (
        130,
        f"stopped; go on with: turncoat resume {folders[alive]}",
    )
    until(cluster.is_clean, 30)


def test_a_stopped_job_can_be_resumed(cluster: Cluster, recipe: str, tmp_path: Path) -> None:
    """`ray job stop` leaves three seconds: enough to end in order, and what is done is kept."""
    out = tmp_path / "run"
    job = cluster.submit("run", recipe, "--out", str(out))
    until(lambda: rounds_in(out) > 1)
    cluster.jobs().stop_job(job)
    assert until(lambda: (s := cluster.jobs().get_job_status(job)).is_terminal() and s) == JobStatus.STOPPED
    until(cluster.is_clean, 30)
    found = Journal(out).latest_checkpoint()
    assert found is not None

    again = cluster.run("resume", str(out))
    until(lambda: rounds_in(out) > found.round + 1)
    os.killpg(again.pid, signal.SIGTERM)
    assert again.wait(60) == 130
    until(cluster.is_clean, 30)


def test_more_than_the_cluster_has_is_refused(cluster: Cluster, recipe: str, tmp_path: Path) -> None:
    """At once, by both commands, and the folder stays free."""
    for command in ("plan", "run"):
        more = [command, recipe, "hardware.gpus_per_peer=8"]
        refused = cluster.run(*more, *(["--out", str(tmp_path / "x")] if command == "run" else []))
        errors = refused.communicate(timeout=60)[1]
        assert (refused.returncode, errors.count("\n")) == (2, 1)
        assert "hardware.gpus_per_peer: 8 GPU needed" in errors
    assert not (tmp_path / "x").exists()


def test_an_address_without_a_cluster_is_bad_input(cluster: Cluster, recipe: str, tmp_path: Path) -> None:
    """One line, rather than a page about sessions and GCS."""
    port = free_ports(1)[0]
    command = cluster.run("run", recipe, f"hardware.address=127.0.0.1:{port}", "--out", str(tmp_path / "x"))
    errors = command.communicate(timeout=120)[1]
    assert command.returncode == 2, errors
    assert f"hardware.address is '127.0.0.1:{port}'" in errors.splitlines()[-1]
