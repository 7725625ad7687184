"""The process of clients, without the process: what it holds, and what outlives it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.actors import client as module
from turncoat.actors.client import ClientHost
from turncoat.actors.server import FederationServer
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse
from turncoat.platform.federation.server import Server
from turncoat.platform.federation.vectors import version_of

TREE = {
    "kind": "federated",
    "clients": {"count": 2, "malicious": 1, "keep_optimiser": True},
    "lie": "free_rider",
    "error_feedback": 1.0,
    "task": {"kind": "arithmetic", "levels": [1, 2]},
    "policy": {"name_or_path": "tiny-0.3m"},
    "local_steps": 1,
    "prompts_per_step": 4,
    "group_size": 4,
    "sampling": {"top_k": 16, "max_new_tokens": 24},
    "entropy": "zstd",
}


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., ClientHost]:
    def make(counted: Any = None, *overrides: str) -> ClientHost:
        one = ClientHost(parse(TREE, overrides).model_dump(mode="json"), [0, 1], str(tmp_path))
        one.start(counted)
        return one

    return make


def memory(one: ClientHost, folder: Path) -> dict[str, bytes]:
    """What a host's clients remember, as a checkpoint would hold it."""
    one.save(str(folder))
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def worked(one: ClientHost, round: int) -> None:
    for client in (0, 1):
        one.work(round, client, None, None)
        one.send(round, client, None)


def test_a_kind_that_is_missing_on_another_machine_is_named(tmp_path: Path) -> None:
    """The driver found the plug-in and this process does not: one line, and not a page of Ray's."""
    plain = parse(TREE).model_dump(mode="json") | {"lie": {"kind": "nowhere:Lie"}}
    host, server = ClientHost(plain, [0, 1], str(tmp_path)), FederationServer(plain, 1.0)
    assert (repr(host), repr(server)) == (
        "run/client-00-to-01 (tiny-0.3m)", "run/server (signal_weighted)",
    )  # fmt: skip
    for start in (host.start, lambda: server.start(np.zeros(3, np.float32))):
        with pytest.raises(BadInput, match=r"lie\.kind: cannot import 'nowhere:Lie'"):
            start()


@pytest.mark.parametrize("counts", [True, False])
def test_a_process_that_dies_after_it_has_sent_is_taken_at_the_server_s_word(
    host: Callable[..., ClientHost], tmp_path: Path, counts: bool
) -> None:
    """Its update is in the policy or it is not; what it remembers must agree with that, to the bit."""
    one = host()
    worked(one, 1)
    one.settle(1, {0: True, 1: True})
    worked(one, 2)  # Here the process ends: the server's word does not reach it.
    heir = host({0: 2 if counts else 1, 1: 1})
    one.settle(2, {0: counts, 1: False})
    found, expected = memory(heir, tmp_path / "heir"), memory(one, tmp_path / "one")
    assert sorted(found) == ["client-00/optimiser.pt", "client-00/residual.safetensors",
                             "client-01/lies.safetensors", "client-01/optimiser.pt",
                             "client-01/residual.safetensors"]  # fmt: skip
    assert found == expected
    assert not list(tmp_path.glob("client-*/memory-after-*"))


def test_a_new_life_knows_nothing_of_the_last(host: Callable[..., ClientHost], tmp_path: Path) -> None:
    """A run that goes back to a checkpoint must not find memories of rounds that it has yet to run."""
    one = host()
    worked(one, 1)
    one.settle(1, {0: True, 1: True})
    saved = tmp_path / "saved"
    kept = memory(one, saved)
    worked(one, 2)
    one.settle(2, {0: True, 1: True})
    worked(one, 3)
    again = host()
    again.load(str(saved), 1)
    heir = host({})
    assert memory(heir, tmp_path / "heir") == kept


def test_a_finished_run_keeps_no_second_copy_of_what_clients_remember(
    host: Callable[..., ClientHost], tmp_path: Path
) -> None:
    """Of each client as large as its policy and its optimiser; a study that keeps results would keep all."""
    one = host()
    worked(one, 1)
    one.settle(1, {0: True, 1: True})
    one.finish()
    for client in ("client-00", "client-01"):
        assert [path.name for path in (tmp_path / client).iterdir() if path.name.startswith("memory")] == []
        assert (tmp_path / client / "completions.parquet").is_file()


@pytest.mark.parametrize("kind", ["federated", "local_only"])
def test_who_learns_alone_is_found_where_it_stood(
    host: Callable[..., ClientHost], tmp_path: Path, kind: str
) -> None:
    """Where nothing is exchanged a process that ends takes the only copy of the policy with it."""
    overrides = (f"kind={kind}", "clients.malicious=0")
    one = host(None, *overrides)
    for client in (0, 1):
        one.work(1, client, None, None)
        if kind == "federated":
            one.send(1, client, None)
    heir = host({0: 1, 1: 1}, *overrides)
    one.settle(1, {0: True, 1: True})
    versions = one.save(str(tmp_path / "one"))
    assert heir.save(str(tmp_path / "heir")) == versions
    assert len(set(versions.values())) == (2 if kind == "local_only" else 1)


def test_the_last_version_is_patched_and_others_are_replaced(
    host: Callable[..., ClientHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that missed a round must not apply the next one's patch to what it holds."""
    one = host()
    server = Server(one.experiment, *one.initial())
    fetched = []

    def get(reference: Any) -> Any:
        fetched.append(reference)
        return server.weights.copy()

    monkeypatch.setattr(module.ray, "get", get)

    def move() -> None:
        before = server.weights.copy()
        server.weights[::7] += np.float32(0.01)
        server._advance(before)

    def take() -> None:
        opening = server.open()
        one.take(opening.version, opening.patched_from, opening.patch, ["all"], None)
        assert version_of(one.weights) == one.version == server.version

    take()
    move()
    take()
    assert fetched == []
    move()
    move()
    take()
    assert fetched == ["all"]
    take()
    assert fetched == ["all"], "what is held already is not fetched again"
    patch = server.patch
    move()
    with pytest.raises(ValueError, match="base version"):
        one.take(server.version, one.version, patch, ["all"], None)
