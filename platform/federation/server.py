"""The server of a federation: the policy, and two phases of every round, of which it sees numbers only."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.accounting import Cost
from turncoat.platform.federation.aggregate import Aggregated, aggregate
from turncoat.platform.federation.budget import entry_budgets
from turncoat.platform.federation.calibration import mean_reward
from turncoat.platform.federation.codec.errors import PayloadError
from turncoat.platform.federation.codec.header import CODINGS, Expected
from turncoat.platform.federation.codec.wire import decode, encode
from turncoat.platform.federation.server_optimiser import server_optimiser
from turncoat.platform.federation.signals import Signal, admit
from turncoat.platform.federation.sparse import Fp32, Sparse
from turncoat.platform.federation.stacking import Stack, aggregate_stacked
from turncoat.platform.federation.vectors import Vector, version_of
from turncoat.platform.journal.atomic import write_text
from turncoat.platform.registry import AGGREGATORS, COMPRESSORS, ROBUST

LARGEST = 1e12
"""No value of an update is larger: sums of allowed ones, and their squares, stay finite in float32."""
WEIGHTS, OPTIMISER, STATE = "server.safetensors", "optimiser.safetensors", "server.json"


@dataclass(frozen=True)
class Opening:
    """What the server hands out at the start of a round.

    weights: [N], the server's own, which `close` changes in place. version: their SHA-256. patch: payload
    that leads there from `patched_from`, the version of the round before; None where it would be longer than
    all weights. mu_global: None in the first round.
    """

    weights: Vector | None
    version: str
    patch: bytes | None
    patched_from: str | None
    mu_global: float | None

    def without_weights(self) -> "Opening":
        return replace(self, weights=None)


@dataclass(frozen=True)
class Grants:
    """What phase 1 came to. entries: client -> how many it may send. refused: client -> why it is out."""

    entries: dict[int, int]
    refused: dict[int, str]


@dataclass(frozen=True)
class Closing:
    """What a round came to. taken: clients whose updates were counted in. refused: client -> why its payload
    was not. costs: client -> what its update cost. mu_global, version: for the next round.
    """

    taken: list[int]
    refused: dict[int, str]
    costs: dict[int, Cost]
    result: Aggregated
    mu_global: float | None
    version: str


Fetch = Callable[[int], bytes]
"""client -> the payload that came from it."""


class Server:
    """θ in float32, and what its rules remember. Memory is O(N): payloads are decoded one at a time."""

    def __init__(self, experiment: Federated, weights: Vector, stack: Stack | None = None):
        """weights: [N] θ before the first round; copied. stack: how adapters add up, if they do."""
        self.experiment, self.stack = experiment, stack
        self.weights: Vector = np.array(weights, np.float32)
        self.update_length = stack.size if stack else len(self.weights)
        self.version = version_of(self.weights)
        self.patch: bytes | None = None
        self.patched_from: str | None = None
        self.mu_global: float | None = None
        self.aggregator = AGGREGATORS.build(experiment.aggregation)
        self.rules = [ROBUST.build(section) for section in experiment.robust]
        compressor = COMPRESSORS.build(experiment.compression)
        self.bits = compressor.bits
        self.codings = CODINGS if compressor.coding is None else (compressor.coding,)
        """Entries are granted, not bytes: whoever sends float32 where two bits are agreed on takes more."""
        step = experiment.server
        self.optimiser = server_optimiser(step.kind, step.lr, step.momentum, step.beta2, step.epsilon)
        self.signals: dict[int, Signal] = {}
        self.granted: dict[int, int] = {}

    def open(self) -> Opening:
        """Begin a round."""
        self.signals, self.granted = {}, {}
        return Opening(self.weights, self.version, self.patch, self.patched_from, self.mu_global)

    def grant(self, round: int, sent: Mapping[int, object]) -> Grants:
        """Phase 1: believe the signals that can be true, and share out the budget. sent: by client."""
        one = self.experiment
        owed = one.local_steps * one.prompts_per_step * one.group_size
        # Who has how many rows, only the clients know.
        owed *= 1 if one.kind != "centralised" and one.clients.prompts == "equal" else one.clients.count
        lowest = -1.0 if one.grpo.overlong_buffer else 0.0
        believed, refused = admit(
            sent, round, dict.fromkeys(sent, owed), self.update_length, one.signals.consistency, lowest
        )
        self.signals = {signal.client: signal for signal in believed}
        budgets = entry_budgets(believed, one.budget.share, one.budget.rule).tolist()
        self.granted = dict(zip(self.signals, budgets, strict=True))
        return Grants(self.granted, refused)

    def close(self, clients: Sequence[int], fetch: Fetch, root: bytes | None = None) -> Closing:
        """Phase 2: check what came, count it in, move θ. clients: whose payloads are there.

        fetch is called more than once for a client. root: the payload of the server's own update, where a
        rule asks for one.
        """
        costs: dict[int, Cost] = {}
        refused: dict[int, str] = {}
        for client in sorted(clients):
            payload = fetch(client)
            try:
                costs[client] = Cost.of(self._decoded(client, payload), payload)
            except PayloadError as error:
                refused[client] = str(error)
        signals = [self.signals[client] for client in costs]
        self.aggregator.observe(signals)
        before = self.weights.copy()
        result = self._aggregate(
            signals,
            lambda client: self._decoded(client, fetch(client)),
            self._read(root, self.update_length) if root is not None else None,
        )
        self.mu_global = mean_reward(signals, self.mu_global)
        self._advance(before)
        return Closing(list(costs), refused, costs, result, self.mu_global, self.version)

    def _aggregate(
        self, signals: Sequence[Signal], fetch: Callable[[int], Sparse], root: Sparse | None
    ) -> Aggregated:
        if self.stack is not None:
            return aggregate_stacked(
                self.weights, signals, fetch, self.aggregator, self.optimiser, self.stack
            )
        return aggregate(self.weights, signals, fetch, self.aggregator, self.rules, self.optimiser, root)

    def save(self, folder: Path) -> None:
        """Write everything that the next round needs into an existing folder."""
        save_file({"weights": self.weights}, folder / WEIGHTS)
        save_file(self.optimiser.state(), folder / OPTIMISER)
        state = {"mu_global": self.mu_global, "aggregator": self.aggregator.state()}
        write_text(folder / STATE, json.dumps(state, allow_nan=False) + "\n")

    def load(self, folder: Path) -> None:
        """Take up what `save` wrote. Clients that held the version before get all weights once."""
        self.weights = load_file(folder / WEIGHTS)["weights"]
        self.optimiser.load(load_file(folder / OPTIMISER))
        state = json.loads((folder / STATE).read_text())
        self.mu_global = state["mu_global"]
        self.aggregator.load(state["aggregator"])
        self.version, self.patch, self.patched_from = version_of(self.weights), None, None

    def _decoded(self, client: int, payload: object) -> Sparse:
        return self._read(payload, self.granted[client])

    def _read(self, payload: object, granted: int) -> Sparse:
        if not isinstance(payload, bytes):
            raise PayloadError(f"payload: {type(payload).__name__} came; allowed are bytes")
        expected = Expected(
            self.update_length,
            granted,
            bytes.fromhex(self.version),
            self.experiment.sends_weights,
            self.codings,
            self.bits,
        )
        update = decode(payload, expected, self.weights)
        largest = float(np.abs(update.values).max(initial=0.0))
        if largest > LARGEST:
            raise PayloadError(f"payload: a value of {largest:g}; allowed are at most {LARGEST:g}")
        return update

    def _advance(self, before: Vector) -> None:
        """Name the new version, and write the patch that leads to it."""
        self.patched_from, self.version = self.version, version_of(self.weights)
        self.patch = None
        if self.experiment.downlink == "patch":
            # Bits rather than values: a zero may have changed its sign.
            changed = np.flatnonzero(before.view(np.uint32) != self.weights.view(np.uint32))
            update = Sparse(len(before), changed, self.weights[changed], Fp32(), absolute=True)
            patch = encode(update, bytes.fromhex(self.patched_from), self.experiment.entropy)
            self.patch = patch if len(patch) < self.weights.nbytes else None


def patched(weights: Vector, version: str, patch: bytes) -> Vector:
    """[N] the next version's weights, at a client that holds `weights`. Raises PayloadError."""
    expected = Expected(len(weights), len(weights), bytes.fromhex(version), absolute=True)
    update = decode(patch, expected)
    found = weights.copy()
    found[update.where] = update.values
    return found
