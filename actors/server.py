"""The process of a federation's server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ray

from turncoat.platform.config.loading import parse
from turncoat.platform.federation.server import Closing, Grants, Opening, Server


class FederationServer:
    """The server in a process of its own. It is handed signals and payloads, never a completion."""

    def __init__(self, experiment: Mapping[str, Any], deadline_seconds: float):
        self.plain = experiment
        self.deadline_seconds = deadline_seconds

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        return f"{self.plain['name']}/server ({self.plain['aggregation']['kind']})"

    def start(self, initial: tuple[Any, Any]) -> str:
        """initial: see `ClientHost.initial`. Returns the weights' version."""
        self.server = Server(parse(self.plain), *initial)
        return self.server.version

    def open(self) -> tuple[Opening, list[Any]]:
        """Begin a round: (what is handed out, without the weights; a reference to the weights)."""
        opening = self.server.open()
        return opening.without_weights(), [ray.put(opening.weights)]

    def grant(self, round: int, sent: Mapping[int, Any]) -> Grants:
        return self.server.grant(round, sent)

    def close(self, payloads: Mapping[int, list[Any]], root: list[Any]) -> Closing:
        """payloads: client -> a reference to its payload, in a list so that it is fetched only when used."""

        def fetch(client: int) -> bytes:
            return ray.get(payloads[client][0], timeout=self.deadline_seconds)

        own = ray.get(root[0], timeout=self.deadline_seconds) if root else None
        return self.server.close(sorted(payloads), fetch, own)

    def save(self, folder: str) -> str:
        """Write the server's state into an existing folder; returns the version."""
        self.server.save(Path(folder))
        return self.server.version

    def load(self, folder: str) -> str:
        """Take up what `save` wrote; returns the version."""
        self.server.load(Path(folder))
        return self.server.version
