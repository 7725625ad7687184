"""A run that stands still says who is missing and what for; a run that fails says who failed, in one line."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import ray

from turncoat.actors.cluster import wait_for_name
from turncoat.actors.waiting import CalledOff, PeerDied, PeerTimeout, wait_for
from turncoat.platform.config.errors import BadInput

pytestmark = pytest.mark.ray


class Peer:
    def answer(self, value: Any, seconds: float = 0.0) -> Any:
        time.sleep(seconds)
        return value

    def pass_on(self, other: Any) -> Any:
        return ray.get(other.answer.remote(1, 60))

    def fail(self) -> None:
        raise BadInput("task.path: there is no 'x.jsonl'")

    def pid(self) -> int:
        return os.getpid()


@pytest.fixture
def peers(local_ray: None) -> Iterator[tuple[Any, Any]]:
    pair = tuple(
        ray.remote(Peer).options(name=f"run/peer-0{i}/peer", num_cpus=0.1).remote() for i in range(2)
    )
    ray.get([peer.pid.remote() for peer in pair])
    yield pair
    for peer in pair:
        ray.kill(peer)
    for i in range(2):
        wait_for_name(f"run/peer-0{i}/peer", 10)


def wait(answers: dict[str, Any], seconds: float = 60, stop: threading.Event | None = None) -> dict[str, Any]:
    return wait_for(answers, "the update of round 3", seconds, "a limit", stop or threading.Event())


def test_answers_come_in_the_order_asked(peers: tuple[Any, Any]) -> None:
    """Results must not depend on who was quick."""
    found = wait({"b": peers[0].answer.remote(1, 0.5), "a": peers[1].answer.remote(2)})
    assert list(found.items()) == [("b", 1), ("a", 2)]


def test_a_deadline_names_who_and_what(peers: tuple[Any, Any]) -> None:
    """One looks at the peer that hangs, not at all of them."""
    with pytest.raises(
        PeerTimeout, match=r"waited 0\.5 s \(a limit\) for the update of round 3: 1 of 2 .*peer-00$"
    ):
        wait({"peer-00": peers[0].answer.remote(1, 60), "peer-01": peers[1].answer.remote(1)}, 0.5)


def test_a_peers_own_error_comes_through(peers: tuple[Any, Any]) -> None:
    """Bad input that only an actor finds is still one line and exit code 2."""
    with pytest.raises(BadInput, match=r"there is no 'x\.jsonl'"):
        wait({"peer-00": peers[0].fail.remote()})


@pytest.mark.parametrize("through", ["itself", "a call", "an argument"])
def test_a_death_names_the_dead(peers: tuple[Any, Any], through: str) -> None:
    """Whoever waits for a dead peer fails too: the one to look at is the dead one."""
    dying, other = peers
    pid = ray.get(dying.pid.remote())
    if through == "itself":
        answer = dying.answer.remote(1, 60)
    elif through == "a call":
        answer = other.pass_on.remote(dying)
    else:
        answer = other.answer.remote(dying.answer.remote(1, 60))
    threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(PeerDied, match=r"^run/peer-00/peer died during the update of round 3: [^\n]*$"):
        wait({"who": answer})


def test_a_wait_is_called_off(peers: tuple[Any, Any]) -> None:
    """Ctrl-C during a long rollout is heard within a moment."""
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    start = time.monotonic()
    with pytest.raises(CalledOff):
        wait({"peer-00": peers[0].answer.remote(1, 60)}, stop=stop)
    assert time.monotonic() - start < 3
