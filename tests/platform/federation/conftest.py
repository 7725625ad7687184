"""A federation in this process: the real clients and server, without Ray and without a driver."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turncoat.platform.config.loading import parse
from turncoat.platform.federation.client import Client, Report
from turncoat.platform.federation.server import Closing, Grants, Server
from turncoat.platform.federation.trainer import Trainer

TREE = {
    "kind": "federated",
    "name": "tiny",
    "rounds": 4,
    "clients": {"count": 3},
    "partition": "by_level",
    "task": {"kind": "arithmetic", "levels": [1, 2, 3]},
    "policy": {"name_or_path": "tiny-0.3m"},
    "local_steps": 2,
    "prompts_per_step": 4,
    "group_size": 4,
    "sampling": {"top_k": 16, "max_new_tokens": 24},
    "optimiser": {"lr": 1e-4, "warmup_rounds": 0},
    "signals": {"calibration": 1.0},
    "entropy": "zstd",
}


class Federation:
    """Clients that share a trainer or have one each, and their server; rounds as the driver runs them."""

    def __init__(self, experiment: Any, folder: Path, trainers: int = 1):
        """trainers: among how many the clients are dealt, as among processes."""
        self.experiment, self.folder = experiment, folder
        self.trainers = [Trainer(experiment) for _ in range(trainers)]
        self.clients = {k: self.member(k) for k in range(experiment.learners + experiment.has_root)}
        self.server = Server(experiment, self.trainers[0].initial(), self.trainers[0].stack)
        self.reports: dict[int, Report] = {}
        self.grants = Grants({}, {})
        self.payloads: dict[int, bytes] = {}
        self.closings: list[Closing] = []

    def member(self, index: int) -> Client:
        own = self.folder / f"client-{index:02d}"
        own.mkdir(parents=True, exist_ok=True)
        return Client(self.experiment, index, self.trainers[index % len(self.trainers)], own)

    def round(
        self,
        round: int,
        late: Iterable[int] = (),
        order: Callable[[list[int]], list[int]] = list,
        claims: Mapping[int, Callable[[Any], Any]] | None = None,
        forges: Mapping[int, Callable[[bytes], Any]] | None = None,
    ) -> Closing:
        """late: who works, but whose update does not come. order: of arrival. claims, forges: what is done
        to a client's signal, or payload, on its way.
        """
        opening, full = self.server.open(), self.experiment.clients.count
        weights = opening.weights.copy()  # The server's own change in place, and a liar remembers them.
        asked = order(self.experiment.participants(round) + [full] * self.experiment.has_root)
        self.reports = {
            k: self.clients[k].work(round, weights, opening.version, opening.mu_global) for k in asked
        }
        signals = {k: one.signal for k, one in self.reports.items() if k != full}
        signals |= {k: claim(signals[k]) for k, claim in (claims or {}).items()}
        self.grants = self.server.grant(round, signals)
        budgets = {k: self.grants.entries.get(k) for k in asked if k in self.grants.entries or k == full}
        self.payloads = {k: self.clients[k].send(round, n) for k, n in budgets.items() if k not in late}
        self.payloads |= {k: forge(self.payloads[k]) for k, forge in (forges or {}).items()}
        root = self.payloads.pop(full, None)
        closing = self.server.close(order(list(self.payloads)), self.payloads.__getitem__, root)
        for k in asked:
            self.clients[k].settle(round, k in {*closing.taken, full})
        self.closings.append(closing)
        return closing

    def run(self, first: int = 1, last: int | None = None) -> "Federation":
        for round in range(first, (last or self.experiment.rounds) + 1):
            self.round(round)
        return self

    def save(self, folder: Path) -> Path:
        (folder / "server").mkdir(parents=True)
        self.server.save(folder / "server")
        for k, client in self.clients.items():
            (folder / str(k)).mkdir()
            client.save(folder / str(k))
        return folder

    def load(self, folder: Path) -> "Federation":
        self.server.load(folder / "server")
        for k, client in self.clients.items():
            client.load(folder / str(k))
        return self


@pytest.fixture(scope="module")
def federated() -> Callable[..., Any]:
    """Make an experiment of three clients that takes a second, changed by overrides such as "rounds=2"."""
    return lambda *overrides: parse(TREE, overrides)


@pytest.fixture(scope="module")
def federation(
    federated: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Federation]:
    """Make a federation from overrides, in a folder of its own."""

    def make(*overrides: str, trainers: int = 1) -> Federation:
        return Federation(federated(*overrides), tmp_path_factory.mktemp("clients"), trainers)

    return make
