"""What the driver waits for, without Ray: whoever reads that a wait ran out looks where it says."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from turncoat.actors import ensemble
from turncoat.actors import federation as module
from turncoat.actors.federation import Federation
from turncoat.platform.config.loading import parse

TREE = {
    "kind": "federated",
    "clients": {"count": 3},
    "task": "arithmetic",
    "policy": {"name_or_path": "tiny-0.3m"},
    "hardware": {"clients_per_process": 2, "deadline_seconds": 1000},
}
OPENING = SimpleNamespace(version="b", patched_from="a", patch=b"", mu_global=None)
ANSWERS = {"initial": (np.zeros(3, np.float32), None), "open": (OPENING, ["weights"])}


class Actor:
    """Every call of a method has the method's name for its reference."""

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *_: name)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str, float, str]]:
    """All waits so far: (for whom, what for, seconds, where those come from)."""
    found = []

    def wait_for(answers: Any, what: str, seconds: float, limit: str, stop: Any) -> dict[str, Any]:
        found.append((sorted(answers), what, seconds, limit))
        return {who: ANSWERS.get(reference) for who, reference in answers.items()}

    def get(*_: Any) -> None:
        raise AssertionError("a wait without a deadline")

    monkeypatch.setattr(ensemble, "wait_for", wait_for)
    monkeypatch.setattr(module.ray, "get", get)
    monkeypatch.setattr(module.ray.util, "get_current_placement_group", object)
    monkeypatch.setattr(Federation, "_place", lambda *_: Actor())
    return found


def federation(tmp_path: Path, *overrides: str) -> Federation:
    return Federation(parse(TREE, overrides), "run", tmp_path, threading.Event())


def test_a_start_may_take_as_long_as_the_recipe_allows(tmp_path: Path, waits: Any) -> None:
    """A large policy takes longer than five minutes to load, and to be handed to the server."""
    with federation(tmp_path):
        pass
    assert [(who, what) for who, what, _, _ in waits] == [
        (["client-00-to-01", "client-02"], "the clients' start"),
        (["client-00-to-01"], "the policy to start from"),
        (["server"], "the server's start"),
    ]
    assert {seconds for _, _, seconds, _ in waits} == {1000}
    waits.clear()
    with federation(tmp_path, "hardware.deadline_seconds=20"):
        pass
    assert {
        what: (seconds, limit) for _, what, seconds, limit in waits if "start from" not in what
    } == dict.fromkeys(
        ("the clients' start", "the server's start"), (300, "hardware.deadline_seconds, 300 at least")
    )


def test_the_process_that_evaluates_is_named(tmp_path: Path, waits: Any) -> None:
    """The server has no part in it: it has no policy to sample from."""
    with federation(tmp_path) as one:
        waits.clear()
        one.evaluate(4)
    assert [(who, what) for who, what, _, _ in waits] == [
        (["server"], "an evaluation"), (["client-00-to-01"], "an evaluation"),
    ]  # fmt: skip
