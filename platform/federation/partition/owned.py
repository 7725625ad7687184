"""Rows dealt by the value of a column: each value's rows are shared among the clients by given chances."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.base import Partition
from turncoat.platform.federation.partition.column import SAMPLE, Column, Value
from turncoat.platform.federation.partition.shard import shards_of
from turncoat.platform.ids import seed_of
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

SMALLEST = 2 / SAMPLE
"""The least share of endless data that a client may own: it looks at 1/share rows for each of its own."""

SPAN = 2**16
"""Endless rows among which each row of a step is looked for. At the smallest share 128 of them serve."""

SHOWN = 4
"""Values that a description names at most; but the first, each is at least 1% of the client's rows."""


class OwnedPartition(Partition):
    """Base of the partitions by a column. A subclass says which, and each value's chances.

    A row belongs to one client by its own hash, or to nobody if its value has no chances.
    """

    def __init__(
        self,
        settings: Kinded,
        task: Task,
        clients: int,
        seed: int,
        column: Column,
        chances: Mapping[Value, Sequence[float]],
    ):
        """chances: value -> the probability of each client to own a row of that value, which sum to 1."""
        super().__init__(settings, task, clients, seed)
        self.column = column
        self.edges = {value: list(accumulate(each)) for value, each in chances.items()}
        self.mixes: list[dict[Value, float]]
        """By client: value -> how many rows of it are its own; of endless data the sample's, on average."""
        if task.rows is None:
            self.mixes = [
                {value: column.counts[value] * each[client] for value, each in chances.items()}
                for client in range(clients)
            ]
        else:
            owned: list[list[int]] = [[] for _ in range(clients)]
            for row in range(task.rows):
                owner = self.owner(row)
                if owner is not None:
                    owned[owner].append(row)
            values = [[column.values[row] for row in mine] for mine in owned]
            self.mixes = [dict(Counter(one for one in mine if one is not None)) for mine in values]
            self.shards = shards_of(owned, seed)
        for client in range(clients):
            share = self.share(client)
            if share == 0 or (task.rows is None and share < SMALLEST):
                raise BadInput(
                    f"partition.kind: {settings.kind!r} by {column.name} leaves client {client} of "
                    f"clients.count = {clients} with {share:.2%} of the rows, expected is more: try fewer "
                    "clients, or other settings of the partition"
                )

    def owner(self, row: int) -> int | None:
        """The client whose row it is; None: nobody's."""
        value = self.column.value(row)
        edges = None if value is None else self.edges.get(value)
        if edges is None:
            return None
        drawn = (seed_of(self.seed, "owner", row) >> 10) / 2**53
        # The last edge may be a hair below 1.
        return min(bisect_right(edges, drawn), self.clients - 1)

    def rows(self, client: int, step: int, count: int) -> list[int]:
        """See Partition. Raises BadInput if the task's rows to come are nothing like its first ones."""
        if self.task.rows is not None:
            return self.shards[client].deal(step * count, count)
        first = self.first + step * count * SPAN
        places = range(first, first + count * SPAN)
        found = list(islice((row for row in places if self.owner(row) == client), count))
        if len(found) < count:
            raise BadInput(
                f"partition.kind: {self.settings.kind!r} finds {len(found)} rows of client {client} in "
                f"{len(places)}, expected are {count}: the first {SAMPLE} rows had {self.share(client):.2%}"
            )
        return found

    def share(self, client: int) -> float:
        return sum(self.mixes[client].values()) / sum(sum(mix.values()) for mix in self.mixes)

    def describe(self, client: int) -> str:
        mix = {value: part for value, part in self.mixes[client].items() if part}
        total = sum(mix.values())
        ranked = sorted(mix, key=lambda value: -mix[value])
        first = ranked[:1] + [value for value in ranked[1:SHOWN] if mix[value] >= total / 100]
        named = [
            self.column.label(value) + (f" {mix[value] / total:.0%}" if len(mix) > 1 else "")
            for value in first
        ]
        more = f" and {len(mix) - len(first)} more" if len(mix) > len(first) else ""
        rows = "of endless rows" if self.task.rows is None else f"of the rows dealt, {total:,}"
        return f"{', '.join(named)}{more}: {self.share(client):.0%} {rows}"
