"""One server step: weights, robust rules, the sum of the updates, the optimiser. One client at a time.

Memory is O(N), whatever the number of clients: a payload is decoded, added and dropped. Rules that look at
all updates have them decoded again. Weights are float64; the sum is float32, as the policy is. Its terms are
multiplied and added entry by entry in ascending order of clients: nothing is reduced in parallel, so the same
payloads give the same bits, and a sparse update the same as the dense one with zeros in between.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.robust.base import Combine, Rule, Standing
from turncoat.platform.federation.robust.coordinates import combined
from turncoat.platform.federation.robust.geometry import CHUNK, Geometry, norm
from turncoat.platform.federation.server_optimiser import ServerOptimiser
from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.federation.weights.base import Aggregator

Vector = NDArray[np.float32]

FROZEN = 0.5
"""A run is warned where more of the coordinates that clients moved come out as 0."""


class Accumulator:
    """Σ c_k Δ_k: float32, one update after the other, in the order in which they are added."""

    def __init__(self, length: int):
        self.total: Vector = np.zeros(length, np.float32)

    def add(self, coefficient: float, update: Sparse) -> None:
        """Add a difference. Besides the update itself it takes next to no memory."""
        factor = np.float32(coefficient)
        for start in range(0, update.nnz, CHUNK):
            part = slice(start, start + CHUNK)
            # Indices are unique, so no entry is added to twice; a full update needs no look-up.
            at = part if update.nnz == update.length else update.indices[part]
            self.total[at] += factor * update.values[part]


@dataclass(frozen=True)
class Aggregated:
    """What came of a round, for the journal.

    moved: whether the policy changed hands; False where no one had weight or trust: it is bit for bit what it
    was, and the optimiser has not stepped. weights: client -> its weight before any robust rule.
    coefficients: client -> what its update was multiplied with, clipping included; empty for rules that work
    coordinate by coordinate. norms: client -> length of its update as sent, of those that were looked at.
    step: length of the combined update, before the server's optimiser. frozen: see `robust.coordinates`.
    notes: warnings for the log.
    """

    moved: bool
    weights: Mapping[int, float]
    coefficients: Mapping[int, float] = field(default_factory=dict)
    norms: Mapping[int, float] = field(default_factory=dict)
    step: float = 0.0
    frozen: float | None = None
    notes: tuple[str, ...] = ()


def aggregate(
    weights: Vector,
    signals: Sequence[Signal],
    fetch: Callable[[int], Sparse],
    aggregator: Aggregator,
    rules: Sequence[Rule],
    optimiser: ServerOptimiser,
    root: Sparse | None = None,
) -> Aggregated:
    """Move `weights` [N] in place by one round.

    signals: of the clients whose updates are there, as admitted; the aggregator has observed the round's.
    fetch: client -> its update, checked, decoded anew at each call; of clients without weight it is not asked
    for. If it raises, nothing has changed, and the caller may go on without that client. rules: in order of
    their stages. root: the server's own update, where a rule is `rooted`.

    Updates that are new weights (`absolute`) are taken as differences to `weights`, except where a single one
    counts, in full, and the optimiser only adds: then its weights are the server's, to the bit.
    """
    signals = sorted(signals, key=lambda signal: signal.client)
    given = aggregator.weigh(signals)
    by_client = {one.client: float(weight) for one, weight in zip(signals, given, strict=True)}
    signals = [one for one in signals if by_client[one.client] > 0]
    if not signals:
        return Aggregated(False, by_client, notes=("no client has any weight: the policy stays as it is",))

    def difference(client: int) -> Sparse:
        return _difference(fetch(client), weights)

    own = None if root is None else _difference(root, weights)
    geometry = Geometry(difference, [one.client for one in signals], len(weights), own)
    standing = _standing(signals, given[given > 0], aggregator, rules, geometry)
    if standing.combine is not None:
        total, result = _coordinatewise(standing, standing.combine, rules[-1], by_client)
    else:
        total, result = _weighted(standing, by_client, measured=bool(rules))
        counted = [client for client, factor in result.coefficients.items() if factor]
        if len(counted) == 1 and result.coefficients[counted[0]] == 1 and optimiser.lands:
            update = fetch(counted[0])
            if update.absolute:
                weights[update.where] = update.values
                return result
    if result.moved:
        optimiser.step(weights, total)
    return result


def _standing(
    signals: Sequence[Signal],
    given: NDArray[np.float64],
    aggregator: Aggregator,
    rules: Sequence[Rule],
    geometry: Geometry,
) -> Standing:
    """How the clients with any weight stand after all rules."""

    def reweigh(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        again = np.zeros(len(signals))
        again[chosen] = aggregator.weigh([signals[at] for at in np.flatnonzero(chosen).tolist()])
        return again

    if any(rule.pairwise for rule in rules):
        _ = (
            geometry.gram
        )  # The norms come with it; a clip that stands first would decode everything for them.
    standing = Standing(given, np.ones(len(given)), geometry, reweigh)
    for rule in rules:
        standing = rule.apply(standing)
    return standing


def _weighted(
    standing: Standing, by_client: Mapping[int, float], measured: bool
) -> tuple[Vector, Aggregated]:
    """Σ c_k Δ_k. measured: the updates' norms are known, or asked for by a rule."""
    geometry = standing.geometry
    scales = standing.weights if standing.coefficients is None else standing.coefficients
    coefficients = _named(geometry.clients, scales * standing.factors)
    norms = _named(geometry.clients, geometry.norms) if measured else {}
    accumulator = Accumulator(geometry.length)
    for client, coefficient in coefficients.items():
        if coefficient:
            update = geometry.fetch(client)
            accumulator.add(coefficient, update)
            if not measured:
                norms[client] = norm(update.values)
    total = accumulator.total
    moved = any(coefficients.values())
    return total, Aggregated(moved, by_client, coefficients, norms, norm(total), notes=standing.notes)


def _coordinatewise(
    standing: Standing, combine: Combine, rule: Rule, by_client: Mapping[int, float]
) -> tuple[Vector, Aggregated]:
    geometry, live = standing.geometry, standing.live
    clients = [geometry.clients[at] for at in live]
    total, frozen = combined(
        geometry.fetch, clients, standing.factors[live].tolist(), geometry.length, combine
    )
    notes = standing.notes
    if frozen > FROZEN:
        freezing = (
            f"{rule.settings.kind}: {frozen:.0%} of the coordinates that clients moved come out as 0: "
            "updates that overlap so little freeze training"
        )
        notes = (*notes, freezing)
    norms = _named(geometry.clients, geometry.norms)
    return total, Aggregated(True, by_client, {}, norms, norm(total), frozen, notes)


def _difference(update: Sparse, weights: Vector) -> Sparse:
    if not update.absolute:
        return update
    return Sparse(update.length, update.indices, update.values - weights[update.where])


def _named(clients: Sequence[int], values: NDArray[np.float64]) -> dict[int, float]:
    return dict(zip(clients, values.tolist(), strict=True))
