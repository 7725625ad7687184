"""A client's finite rows, dealt epoch by epoch."""

import random
from collections.abc import Sequence

from turncoat.platform.ids import seed_of


class Shard:
    """Rows in an endless order: each epoch holds all of them once, shuffled anew."""

    def __init__(self, rows: Sequence[int], seed: int):
        """rows: distinct, at least one."""
        self.rows = rows
        self.seed = seed
        self._shuffled: tuple[int, list[int]] = (-1, [])

    def __len__(self) -> int:
        return len(self.rows)

    def deal(self, first: int, count: int) -> list[int]:
        """The rows at `count` places of the order, from place `first` on."""
        places = (divmod(place, len(self.rows)) for place in range(first, first + count))
        return [self._order(epoch)[place] for epoch, place in places]

    def _order(self, epoch: int) -> list[int]:
        """The epoch's permutation. The last one is kept: neighbours ask for the same."""
        if self._shuffled[0] != epoch:
            order = list(self.rows)
            random.Random(seed_of(self.seed, "epoch", epoch)).shuffle(order)
            self._shuffled = (epoch, order)
        return self._shuffled[1]


def shards_of(rows: Sequence[Sequence[int]], seed: int) -> list[Shard]:
    """A shard of each client's rows, each with a seed of its own."""
    return [Shard(mine, seed_of(seed, "shard", client)) for client, mine in enumerate(rows)]
