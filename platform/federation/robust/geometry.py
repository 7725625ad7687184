"""Lengths of updates and angles between them, from sparse updates that are decoded as they are needed."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.sparse import Sparse

Fetch = Callable[[int], Sparse]
"""client -> its update, a difference to the policy that the round began with, decoded anew at each call."""

CHUNK = 1 << 16
"""Entries that are worked on at once: bounds what a sum in float64 needs beside the updates."""


class Geometry:
    """Norms and inner products of K updates on the union of their supports, in float64.

    What an update does not name is 0 in it, so an inner product runs over the entries that both name. Sums
    run in the order of entries, in one thread's arithmetic: the same on every run. Memory: one vector of
    length N, and decoded updates with N entries in total at most (or one update); of sparse ones all fit, and
    each is decoded once. K dense ones are decoded K²/2 times.
    """

    def __init__(self, fetch: Fetch, clients: Sequence[int], length: int, root: Sparse | None = None):
        """root: the server's own update, for a rule that asks for it."""
        self.fetch = fetch
        self.clients = clients
        self.length = length
        self.root = root

    @cached_property
    def norms(self) -> NDArray[np.float64]:
        """[K] Euclidean lengths."""
        if "gram" in self.__dict__:
            return np.sqrt(np.diag(self.gram))
        return np.array([norm(self.fetch(client).values) for client in self.clients])

    @cached_property
    def gram(self) -> NDArray[np.float64]:
        """[K, K] inner products."""
        gram = np.zeros((len(self.clients), len(self.clients)))
        dense = np.zeros(self.length, np.float32)
        start = 0
        while start < len(self.clients):
            held: list[Sparse] = []
            for at in range(start, len(self.clients)):
                update = self.fetch(self.clients[at])
                room = self.length - sum(one.nnz for one in held)
                if start + len(held) == at and (not held or update.nnz <= room):
                    held.append(update)
                dense[update.where] = update.values
                for other, one in enumerate(held, start):
                    gram[other, at] = gram[at, other] = inner(one, dense)
                dense[update.where] = 0
            start += len(held)
        return gram

    @cached_property
    def along_root(self) -> NDArray[np.float64]:
        """[K] inner products with the server's own update. Raises ValueError where there is none."""
        if self.root is None:
            raise ValueError("this rule compares with an update of the server's own, and there is none")
        dense = self.root.dense()
        return np.array([inner(self.fetch(client), dense) for client in self.clients])

    @property
    def root_norm(self) -> float:
        return norm(self.root.values) if self.root is not None else 0.0


def inner(update: Sparse, dense: NDArray[np.float32]) -> float:
    """Σ update_i · dense_i in float64. dense: [N]."""
    total = 0.0
    for start in range(0, update.nnz, CHUNK):
        part = slice(start, start + CHUNK)
        there = dense[part] if update.nnz == update.length else dense[update.indices[part]]
        total += float((update.values[part].astype(np.float64) * there).sum())
    return total


def norm(values: NDArray[np.float32]) -> float:
    """Euclidean length of [n], in float64."""
    parts = range(0, len(values), CHUNK)
    return float(
        np.sqrt(sum(float(np.square(values[at : at + CHUNK], dtype=np.float64).sum()) for at in parts))
    )
