"""Rules that work coordinate by coordinate, on sparse updates, without all of them dense at once."""

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.robust.base import Combine
from turncoat.platform.federation.robust.geometry import Fetch

BLOCK = 1 << 16
"""Coordinates that are combined at once: [n, BLOCK] float64."""

Entries = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ascending coordinates, and the values there."""


def combined(
    fetch: Fetch, clients: Sequence[int], factors: Sequence[float], length: int, combine: Combine
) -> tuple[NDArray[np.float32], float]:
    """([N] what `combine` makes of the clients' values at each coordinate, the frozen share).

    factors: [n], what each update is multiplied with. The frozen share is that of the coordinates at which
    some client moved and the outcome is exactly 0. Memory: the outcome, and at most N entries of updates.
    Where all updates together have more, coordinates are taken in n ranges and each update is decoded anew
    for each of them.
    """
    total = np.zeros(length, np.float32)
    moved = frozen = 0
    ranges = 1 if sum(fetch(client).nnz for client in clients) <= length else len(clients)
    width = ceil(length / ranges)
    for start in range(0, length, width):
        held = [_entries(fetch, client, start, start + width) for client in clients]
        for union, values in _blocks(held, factors):
            out = combine(values)
            touched = values.any(axis=0)
            moved += int(touched.sum())
            frozen += int((touched & (out == 0)).sum())
            total[union] = out
    return total, frozen / moved if moved else 0.0


def _entries(fetch: Fetch, client: int, start: int, stop: int) -> Entries:
    """Those of an update in a range of coordinates, without the rest of it."""
    update = fetch(client)
    first, last = np.searchsorted(update.indices, (start, stop))
    if last - first == update.nnz:
        return update.indices, update.values
    return update.indices[first:last].copy(), update.values[first:last].copy()


def _blocks(
    held: Sequence[Entries], factors: Sequence[float]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """(C coordinates that any update names, [n, C] the values there) for one part of them after the other."""
    places = [0] * len(held)
    while True:
        ahead = [int(at[place]) for (at, _), place in zip(held, places, strict=True) if place < len(at)]
        if not ahead:
            return
        stop = min(ahead) + BLOCK
        ends = [int(np.searchsorted(at, stop)) for at, _ in held]
        parts = [
            (at[place:end], values[place:end])
            for (at, values), place, end in zip(held, places, ends, strict=True)
        ]
        union = np.unique(np.concatenate([at for at, _ in parts]))
        block = np.zeros((len(held), len(union)))
        for row, (at, values), factor in zip(block, parts, factors, strict=True):
            row[np.searchsorted(union, at)] = values * np.float64(factor)
        yield union, block
        places = ends
