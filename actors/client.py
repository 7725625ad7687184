"""The process of a federation's clients: one of them, or several in turn."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from turncoat.platform.config.loading import parse
from turncoat.platform.federation.server import patched
from turncoat.platform.federation.vectors import version_of
from turncoat.platform.ids import client_name
from turncoat.platform.journal import atomic
from turncoat.platform.plan import host_name

MEMORY = "memory"
"""In a client's folder: what it remembers, as of the last round that was closed with it."""
NEXT = "memory-after-{round:05d}"
"""Beside it: what it will remember if that round counts. It lies there before the server can count it."""


class ClientHost:
    """One copy of a policy, on which one client or several train in turn. One thread.

    Loading is a call of its own, `start`: Ray would bury what a constructor raises in a page of text.
    """

    def __init__(self, experiment: Mapping[str, Any], clients: Sequence[int], folder: str):
        """folder: the run's `clients`, where each has a journal of its own."""
        self.plain, self.indices, self.folder = experiment, list(clients), Path(folder)
        self.version = ""
        self.honest: tuple[int, list[Any]] = (0, [])
        """(round, what the honest clients' training did), for a liar who is shown it; they come before it."""

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        return f"{self.plain['name']}/{host_name(self.indices)} ({self.plain['policy']['name_or_path']})"

    def start(self, counted: Mapping[int, int] | None = None) -> None:
        """Load task, policy and clients. counted: to go on in the place of a process that has ended, the last
        round of each client, if any, that was closed with it; they remember what lies on disk.

        Raises BadInput where a kind cannot be imported here, where a file is missing or broken, or where the
        partition leaves a client nothing.
        """
        import torch

        from turncoat.platform.federation.client import Client
        from turncoat.platform.federation.trainer import Trainer

        # Two threads per process on a busy machine are many times slower than one.
        torch.set_num_threads(1)
        self.experiment = parse(self.plain)
        self.sees_others = getattr(self.experiment.lie, "oracle", False)
        self.trainer = Trainer(self.experiment)
        self.weights = self.trainer.initial()
        self.version = version_of(self.weights)
        self.clients = {}
        for index in self.indices:
            own = self.folder / client_name(index)
            own.mkdir(parents=True, exist_ok=True)
            self.clients[index] = Client(self.experiment, index, self.trainer, own)
            if counted is not None:
                self._promote(index, counted.get(index, 0))
                if (own / MEMORY).is_dir():
                    self.clients[index].load(own / MEMORY)

    def initial(self) -> tuple[Any, Any]:
        """([N] what the server holds before the first round; how it stacks adapters, if it does)."""
        return self.weights, self.trainer.stack

    def take(
        self,
        version: str,
        patched_from: str | None,
        patch: bytes | None,
        weights: list[Any],
        ready: None,
    ) -> None:
        """Take up the server's weights. patch: leads there from `patched_from`. weights: a reference to all
        of them, fetched only where the patch does not fit. ready: what had to be done before.
        """
        if self.version == version:
            return
        if patch is not None and self.version == patched_from:
            self.weights = patched(self.weights, patched_from, patch)
            found = version_of(self.weights)
            if found != version:
                raise ValueError(f"the patch leads to version {found}, expected {version}")
        else:
            self.weights = ray.get(weights[0])
        self.version = version

    def work(self, round: int, client: int, mu_global: float | None, ready: None) -> Any:
        """Phase 1 of one client: a Report."""
        if round != self.honest[0]:
            self.honest = (round, [])
        others = self.honest[1]
        report = self.clients[client].work(round, self.weights, self.version, mu_global, others)
        if self.sees_others and not self.experiment.is_malicious(client):
            others.append(self.trainer.weights() - self.weights)
        if self.experiment.kind != "federated":
            self._prepare(client, round)
        return report

    def send(self, round: int, client: int, budget: int | None) -> bytes:
        """Phase 2 of one client: its payload."""
        payload = self.clients[client].send(round, budget)
        self._prepare(client, round)
        return payload

    def settle(self, round: int, taken: Mapping[int, bool]) -> None:
        """The round is closed. taken: of this host's clients that were asked, whether they count."""
        for index, counted in taken.items():
            self.clients[index].settle(round, counted)
            self._promote(index, round if counted else 0)

    def evaluate(self, client: int | None, completions: int, ready: None) -> Any:
        """Held-out figures of the server's policy, or of a client's own where nothing is exchanged."""
        weights = self.weights if client is None else self.clients[client].own_or(self.weights)
        return self.trainer.evaluate(weights, completions)

    def save(self, folder: str) -> dict[int, str]:
        """Write each client's memory into `folder/<client>`; client -> hash of the weights it stands at."""
        for index, client in self.clients.items():
            own = Path(folder) / client_name(index)
            own.mkdir(parents=True)
            client.save(own)
        return {index: version_of(one.own_or(self.weights)) for index, one in self.clients.items()}

    def load(self, folder: str, round: int) -> dict[int, str]:
        """Go back to what `save` wrote after `round`."""
        for index, client in self.clients.items():
            client.load(Path(folder) / client_name(index))
            client.rewind(round)
            self._promote(index, 0)
            self._write(index, MEMORY, counted=False)
        return {index: version_of(one.own_or(self.weights)) for index, one in self.clients.items()}

    def finish(self) -> None:
        """Close the journals of a finished run. What clients remember lies in its last checkpoint."""
        for index, client in self.clients.items():
            client.close_journal()
            shutil.rmtree(self.folder / client_name(index) / MEMORY, ignore_errors=True)

    def _prepare(self, index: int, round: int) -> None:
        """Have on disk what the client remembers if this round counts, before anyone can count it."""
        if self.clients[index].remembers:
            self._write(index, NEXT.format(round=round), counted=True)

    def _promote(self, index: int, counted: int) -> None:
        """What was prepared for round `counted` is what the client remembers; for others it is void."""
        folder = self.folder / client_name(index)
        if (folder / NEXT.format(round=counted)).is_dir():
            shutil.rmtree(folder / MEMORY, ignore_errors=True)
            (folder / NEXT.format(round=counted)).rename(folder / MEMORY)
        for void in folder.glob(NEXT.partition("{")[0] + "*"):
            shutil.rmtree(void)

    def _write(self, index: int, name: str, counted: bool) -> None:
        # Whole or not at all: a process that is killed here leaves the last round's memory.
        folder = self.folder / client_name(index)
        fresh = atomic.temporary(folder / name)
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        self.clients[index].save(fresh, counted)
        shutil.rmtree(folder / name, ignore_errors=True)
        fresh.rename(folder / name)
