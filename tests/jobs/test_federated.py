"""Federated runs with processes that end, are late, or are stopped: the run is the one its config describes.

In each the same client is out of the same round; marked absent by config, the run must end in the same bits.
"""

import os
import pickle
import re
import signal
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import ray
from rich.console import Console

from turncoat.actors.cluster import connected
from turncoat.actors.waiting import CalledOff, PeerDied
from turncoat.jobs.federated import drive
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import run_name
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.journal import completions
from turncoat.platform.journal.journal import METRICS, Journal
from turncoat.platform.journal.metrics import without_times

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("cluster")]

PLUG_IN = '''
"""Trouble for the tests of federated runs, in the processes where it happens."""

import os
import pickle
import signal
import time
from pathlib import Path

import ray

from turncoat.actors.server import FederationServer
from turncoat.platform.federation.attacks.base import Lie, LieSettings

HEARD = Path(__file__).with_name("heard.pickle")


class Dies(Lie):
    """Its process ends in the middle of round 2."""

    class Settings(LieSettings):
        kind: str

    def corrupt(self, signal_, delta, round, seed, others=()):
        if round == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return signal_, delta

    def lie(self, signal_, delta, seed, others):
        return signal_, delta


class Sleeps(Dies):
    """In round 2 it answers once the round is over."""

    class Settings(LieSettings):
        kind: str
        metrics: str

    def corrupt(self, signal_, delta, round, seed, others=()):
        while round == 2 and '"round": 2' not in Path(self.settings.metrics).read_text():
            time.sleep(0.05)
        return signal_, delta


class Listening(FederationServer):
    """Writes down all that it is handed."""

    def start(self, weights):
        return self.noted(super().start, weights)

    def grant(self, round, sent):
        return self.noted(super().grant, round, sent)

    def close(self, payloads, root):
        arrived = {client: ray.get(one[0]) for client, one in payloads.items()}
        self.noted(lambda *_: None, arrived, [ray.get(one) for one in root])
        return super().close(payloads, root)

    def noted(self, call, *arguments):
        with HEARD.open("ab") as file:
            pickle.dump(arguments, file)
        return call(*arguments)
'''

TREE = {
    "kind": "federated",
    "rounds": 3,
    "clients": {"count": 3, "malicious": 1, "keep_optimiser": True},
    "lie": "trouble_for_tests:Dies",
    "compression": {"kind": "top_k", "share": 0.1},
    "error_feedback": 1.0,
    "server": {"kind": "nesterov", "lr": 0.7},
    "partition": "by_level",
    "task": {"kind": "arithmetic", "levels": [1, 2, 3]},
    "policy": {"name_or_path": "tiny-0.3m"},
    "local_steps": 2,
    "prompts_per_step": 4,
    "group_size": 4,
    "sampling": {"top_k": 16, "max_new_tokens": 24},
    "evaluation": {"every": 0, "final_completions": 4},
    "hardware": {"cpus_per_process": 0.5, "clients_per_process": 3},
}
AWAY = "clients.absent={2: [2]}"


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a module that the driver and every process of Ray's find."""
    folder = tmp_path_factory.mktemp("plug_in")
    (folder / "trouble_for_tests.py").write_text(PLUG_IN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield folder
    sys.modules.pop("trouble_for_tests", None)


@pytest.fixture(scope="module")
def cluster(plug_in: Path) -> Iterator[None]:
    with connected("local", cpus=8):
        yield


class Watch(Board):
    """A board that acts when a round is done, before its checkpoint."""

    def __init__(self, at: int, act: Callable[[], None]):
        super().__init__(Console(file=StringIO()))
        self.at, self.act = at, act

    def round(self, experiment: Any, round: int, lines: Any) -> None:
        super().round(experiment, round, lines)
        if round == self.at:
            self.act()


def begun(folder: Path, *overrides: str) -> tuple[Any, Journal]:
    experiment = parse(TREE, overrides)
    return experiment, Journal.create(folder, to_yaml(experiment), {})


def trained(folder: Path, *overrides: str) -> Journal:
    experiment, journal = begun(folder, *overrides)
    drive(experiment, journal, Board(Console(file=StringIO())), Event())
    return journal


def hashes(journal: Journal) -> list[str]:
    """The server's weights after each round."""
    return [line["weights_sha256"] for line in journal.metrics().lines if "weights_sha256" in line]


def line(journal: Journal, round: int, peer: str) -> dict[str, Any]:
    (found,) = [
        one
        for one in journal.metrics().lines
        if (one["kind"], one["round"], one["peer"]) == ("round", round, peer)
    ]
    return found


def less_downlink(lines: list[str]) -> list[str]:
    return [re.sub(r'"downlink_bytes": \d+', "", one) if '"round": 2,' in one else one for one in lines]


@pytest.fixture(scope="module")
def marked(cluster: None, plug_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """The run that says in its config who is out; all that its server is handed is kept."""
    import trouble_for_tests

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("turncoat.actors.federation.FederationServer", trouble_for_tests.Listening)
        return trained(tmp_path_factory.mktemp("runs") / "marked", AWAY)


def test_who_is_marked_absent_has_no_part(marked: Journal) -> None:
    """The reference of the tests below: three rounds, three policies, and the rest at full weight."""
    assert len(set(hashes(marked))) == 3
    assert hashes(marked)[-1] == marked.latest_checkpoint().state["weights_sha256"]["server"]
    out = line(marked, 2, "client-02")
    assert (out["state"], out["weight"], out["downlink_bytes"]) == ("absent", 0.0, 0)
    weights = [line(marked, 2, f"client-0{k}")["weight"] for k in (0, 1)]
    assert sum(weights) == pytest.approx(1)
    whole = 4 * line(marked, 2, "server")["length"]
    assert line(marked, 3, "client-02")["downlink_bytes"] == whole, "it missed a round"
    assert 0 < line(marked, 3, "client-00")["downlink_bytes"] < whole
    assert marked.summary()["traffic"]["absences"] == 1


def test_a_killed_client_is_as_if_absent(marked: Journal, tmp_path: Path) -> None:
    """Machines fail: the others go on without it, and its heir knows what it knew before the round."""
    journal = trained(tmp_path / "run", "hardware.clients_per_process=2")
    assert hashes(journal) == hashes(marked)
    out = line(journal, 2, "client-02")
    assert out["state"] == "absent"
    assert "died during the local training of round 2" in out["reason"]
    back = line(journal, 3, "client-02")
    assert back["state"] == "taken"
    assert back["downlink_bytes"] == 4 * line(journal, 3, "server")["length"], "the heir held nothing"


def test_a_straggler_is_as_if_absent(marked: Journal, tmp_path: Path) -> None:
    """A round ends at its deadline, and what comes later changes nothing."""
    folder = tmp_path / "run"
    lie = f"lie={{kind: 'trouble_for_tests:Sleeps', metrics: '{folder / METRICS}'}}"
    journal = trained(folder, lie, "clients.deadline_seconds=15", "hardware.clients_per_process=2")
    out = line(journal, 2, "client-02")
    assert (out["state"], out["reason"]) == (
        "absent", "no answer within 15 s of the local training of round 2",
    )  # fmt: skip
    assert hashes(journal) == hashes(marked)
    assert line(journal, 3, "client-02")["state"] == "taken"


def test_stopped_killed_and_resumed_is_as_if_nothing_had_happened(marked: Journal, tmp_path: Path) -> None:
    """Ctrl-C before the first round's checkpoint, a server killed before the second's: the same run."""
    experiment, journal = begun(tmp_path / "run", AWAY)
    stop = Event()
    with pytest.raises(CalledOff):
        drive(experiment, journal, Watch(1, stop.set), stop)
    assert journal.latest_checkpoint().round == 0

    def kill_the_server() -> None:
        server = ray.get_actor(f"{run_name(experiment, journal)}/server/server")
        os.kill(ray.get(server.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)

    with pytest.raises(PeerDied, match="server died during a checkpoint"):
        drive(experiment, journal, Watch(2, kill_the_server), Event())
    assert journal.latest_checkpoint().round == 1
    drive(experiment, journal, Board(Console(file=StringIO())), Event())
    assert hashes(journal) == hashes(marked)
    ends = [
        [without_times(text) for text in (one.folder / METRICS).read_text().splitlines()]
        for one in (journal, marked)
    ]
    # Who goes on from a checkpoint is sent all weights once, instead of a patch.
    differing = [pair for pair in zip(*map(less_downlink, ends), strict=True) if pair[0] != pair[1]]
    assert differing == []
    for k in range(3):
        own = [one.folder / "clients" / f"client-0{k}" / completions.MERGED for one in (journal, marked)]
        assert own[0].read_bytes() == own[1].read_bytes()


def test_no_text_reaches_the_server_s_process(marked: Journal, plug_in: Path) -> None:
    """The promise of a federation, on the very bytes that the server's process was handed."""
    heard = (plug_in / "heard.pickle").read_bytes()
    assert heard.count(b"signals") >= 3
    assert len(heard) > 4 * line(marked, 1, "server")["length"]
    clients = sorted((marked.folder / "clients").iterdir())
    assert [folder.name for folder in clients] == ["client-00", "client-01", "client-02"]
    for k, folder in enumerate(clients):
        rows = completions.read(folder, ["round", "peer", "prompt_text", "text"]).to_pylist()
        assert {row["peer"] for row in rows} == {k}
        assert {row["round"] for row in rows} == ({1, 3} if k == 2 else {1, 2, 3})
        texts = {text for row in rows for text in (row["prompt_text"], row["text"]) if len(text) >= 12}
        assert len(texts) > 20
        assert not [text for text in texts if text.encode() in heard]
        assert rows[0]["prompt_text"].encode() in pickle.dumps(rows), "it would have been found"
    assert not (marked.folder / completions.MERGED).exists()
    assert not (marked.folder / completions.PARTS).exists()
