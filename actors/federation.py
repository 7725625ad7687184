"""All clients of one federation and its server, placed and named, as the driver sees them."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from turncoat.actors.client import ClientHost
from turncoat.actors.ensemble import Ensemble
from turncoat.actors.server import FederationServer
from turncoat.actors.waiting import PeerDied, wait_in_time
from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.client import Report
from turncoat.platform.federation.lines import SERVER
from turncoat.platform.federation.server import Closing
from turncoat.platform.ids import client_name
from turncoat.platform.plan import host_name, hosts_of


@dataclass
class Round:
    """What came of a round, for the journal.

    reports: of the clients whose local training came in time. granted: entries they may send. absent and
    refused: client -> why. closing: None where nothing is exchanged. downlink: client -> bytes sent to it.
    """

    reports: dict[int, Report]
    absent: dict[int, str]
    granted: dict[int, int] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    closing: Closing | None = None
    downlink: dict[int, int] = field(default_factory=dict)


class Federation(Ensemble):
    """Creates the actors of all clients and the server, and talks to all of them with deadlines.

    A client that is late, or whose process ends, is absent from the round; a new process takes its place.
    """

    def __init__(self, experiment: Federated, run: str, folder: Path, stop: threading.Event):
        """folder: the run's."""
        super().__init__(experiment, run, stop)
        self.experiment = experiment
        self.folder = str(folder.resolve() / "clients")
        self.plain = experiment.model_dump(mode="json")
        self.groups = hosts_of(experiment)
        self.hosts: list[Any] = []
        self.ready: list[Any] = []
        """By host: what has to be done before it works. If that failed, so does the work, for that reason."""
        self.dead: set[int] = set()
        self.held: dict[int, str] = {}
        """client -> the version that it was last sent."""
        self.counted: dict[int, int] = {}
        """client -> the last round that was closed with it."""

    def round(self, round: int) -> Round:
        """Both phases of one round with the clients that take part in it."""
        clients = self.experiment.participants(round)
        if self.experiment.kind != "federated":
            return self._alone(round, clients)
        opening, weights = self._ask(self.server.open.remote(), f"the start of round {round}")
        full = self.experiment.clients.count  # the server's own client, where a rule asks for its update
        asked = [*clients, full] if self.experiment.has_root else clients
        downlink = {client: self._sent_to(client, opening) for client in clients}
        patch = ray.put(opening.patch)
        for place in {self._at(client) for client in asked}:
            self.ready[place] = self.hosts[place].take.remote(
                opening.version, opening.patched_from, patch, weights, self.ready[place]
            )
        reports, absent = self._reports(round, asked, opening.mu_global)
        marked = self.experiment.clients.absent.get(round, [])
        absent |= dict.fromkeys(marked, "marked in clients.absent")
        own = reports.pop(full, None)
        grants = self._ask(
            self.server.grant.remote(round, {client: one.signal for client, one in reports.items()}),
            f"the budgets of round {round}",
        )
        payloads = {
            client: self._host(client).send.remote(round, client, entries)
            for client, entries in grants.entries.items()
        }
        if own is not None:
            payloads[full] = self._host(full).send.remote(round, full, None)
        what = f"the updates of round {round}"
        in_time, late = self._in_time(payloads, what)
        absent |= late
        arrived = {client: [payloads[client]] for client in in_time}
        root = arrived.pop(full, [])
        closing = self._ask(self.server.close.remote(arrived, root), f"the sum of round {round}")
        self._settle(round, asked, {*closing.taken, *[full for _ in root]}, absent)
        self._replace_dead()
        return Round(reports, absent, grants.entries, grants.refused | closing.refused, closing, downlink)

    def evaluate(self, completions: int) -> dict[int | None, Any]:
        """Held-out figures: None -> of the server's policy, or client -> of its own."""
        what = "an evaluation"
        if self.experiment.kind == "federated":
            opening, weights = self._ask(self.server.open.remote(), what)
            self.ready[0] = self.hosts[0].take.remote(
                opening.version, opening.patched_from, opening.patch, weights, self.ready[0]
            )
            figures = self.hosts[0].evaluate.remote(None, completions, self.ready[0])
            return {None: self._wait({self._name(0): figures}, what)[self._name(0)]}
        answers = {
            client_name(client): self._host(client).evaluate.remote(
                client, completions, self.ready[self._at(client)]
            )
            for client in range(self.experiment.learners)
        }
        found = self._wait(answers, what)
        return {client: found[client_name(client)] for client in range(self.experiment.learners)}

    def save(self, folder: Path) -> dict[str, str]:
        """Have everyone write its state into `folder`; name -> hash of the weights."""
        what = "a checkpoint"
        answers = {self._name(i): host.save.remote(str(folder)) for i, host in enumerate(self.hosts)}
        return self._versions(self._wait(answers, what), folder, "save", what)

    def load(self, folder: Path, round: int) -> dict[str, str]:
        """Have everyone take up what `save` wrote after `round`; name -> hash of the weights."""
        what = "loading a checkpoint"
        answers = {self._name(i): host.load.remote(str(folder), round) for i, host in enumerate(self.hosts)}
        return self._versions(self._wait(answers, what), folder, "load", what)

    def finish(self) -> None:
        """Close the clients' journals."""
        self._wait({self._name(i): host.finish.remote() for i, host in enumerate(self.hosts)}, "the end")

    def _versions(self, found: Mapping[str, Any], folder: Path, verb: str, what: str) -> dict[str, str]:
        if self.experiment.kind == "federated":
            # Clients stand where the server stands.
            return {SERVER: self._ask(getattr(self.server, verb).remote(str(folder)), what)}
        return {client_name(c): sha for one in found.values() for c, sha in sorted(one.items())}

    def _alone(self, round: int, clients: list[int]) -> Round:
        reports, absent = self._reports(round, clients, None)
        self._settle(round, clients, set(reports), absent)
        self._replace_dead()
        return Round(reports, absent)

    def _reports(
        self, round: int, clients: list[int], mu_global: float | None
    ) -> tuple[dict[int, Report], dict[int, str]]:
        """(client -> what its local training came to; client -> why it is absent)."""
        answers = {
            client: self._host(client).work.remote(round, client, mu_global, self.ready[self._at(client)])
            for client in clients
        }
        in_time, late = self._in_time(answers, f"the local training of round {round}")
        return {client: ray.get(answers[client]) for client in in_time}, late

    def _settle(self, round: int, clients: list[int], taken: set[int], absent: Mapping[int, str]) -> None:
        """Tell all that were asked. Of processes without a late client this is waited for."""
        prompt = {}
        for place in sorted({self._at(client) for client in clients}):
            own = [client for client in clients if self._at(client) == place]
            counts = {client: client in taken for client in own}
            self.ready[place] = self.hosts[place].settle.remote(round, counts)
            if not absent.keys() & counts.keys():
                prompt[own[0]] = self.ready[place]
        self.counted |= dict.fromkeys(taken & set(clients), round)
        self._in_time(prompt, f"the end of round {round}")

    def _sent_to(self, client: int, opening: Any) -> int:
        """Bytes of the server's weights as this client gets them."""
        held, self.held[client] = self.held.get(client), opening.version
        if held == opening.version:
            return 0
        if opening.patch is not None and held == opening.patched_from:
            return len(opening.patch)
        return 4 * self.held_entries  # float32

    def _start(self) -> None:
        for place in range(len(self.groups)):
            self.hosts.append(self._new_host(place))
        self.ready = [host.start.remote() for host in self.hosts]
        answers = {self._name(i): started for i, started in enumerate(self.ready)}
        if self.experiment.kind == "federated":
            self.server = self._place(
                FederationServer, f"{SERVER}/server", 1, self.experiment.hardware.cpus_of_server, 0,
                self.plain, self.experiment.hardware.deadline_seconds,
            )  # fmt: skip
        self._wait_for_start(answers, "the clients' start")
        initial = self.hosts[0].initial.remote()
        weights, stack = self._wait({self._name(0): initial}, "the policy to start from")[self._name(0)]
        self.held_entries = len(weights)
        self.length = stack.size if stack else len(weights)  # of an update
        if self.experiment.kind == "federated":
            self._wait_for_start({SERVER: self.server.start.remote(initial)}, "the server's start")

    def _new_host(self, place: int) -> Any:
        hardware = self.experiment.hardware
        name = f"{host_name(self.groups[place])}/client"
        first = 2 if self.experiment.kind == "federated" else 1
        return self._place(
            ClientHost, name, first + place, hardware.cpus_per_process, hardware.gpus_per_process,
            self.plain, self.groups[place], self.folder,
        )  # fmt: skip

    def _replace_dead(self) -> None:
        """Start a new process where one has ended; it goes on with what its clients remember on disk."""
        for place in sorted(self.dead):
            ray.kill(self.hosts[place])  # Ray keeps a name for an actor that died by itself.
            self.hosts[place] = self._new_host(place)
            self.ready[place] = self.hosts[place].start.remote(self.counted)
            for client in self.groups[place]:
                self.held.pop(client, None)  # The policy that it starts from is the first round's.
        self.dead = set()

    def _at(self, client: int) -> int:
        return next(place for place, group in enumerate(self.groups) if client in group)

    def _host(self, client: int) -> Any:
        return self.hosts[self._at(client)]

    def _name(self, place: int) -> str:
        return host_name(self.groups[place])

    def _in_time(self, answers: Mapping[int, Any], what: str) -> tuple[list[int], dict[int, str]]:
        """(clients whose answers are there, client -> why its answer is not)."""
        named = {client_name(client): answer for client, answer in answers.items()}
        _, lost = wait_in_time(named, what, self.experiment.clients.deadline_seconds, self.stop)
        late = {client: lost[name] for client in answers if (name := client_name(client)) in lost}
        self.dead |= {self._at(client) for client, why in late.items() if isinstance(why, PeerDied)}
        return [c for c in answers if c not in late], {client: str(why) for client, why in late.items()}

    def _ask(self, answer: Any, what: str) -> Any:
        return self._wait({SERVER: answer}, what)[SERVER]
