"""Rows written out in the config, client by client."""

import re
from itertools import chain, pairwise
from typing import Literal

from pydantic import Field

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.base import Partition
from turncoat.platform.federation.partition.shard import shards_of
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

MOST = 10_000_000
"""Rows of all shards together: they are held in memory."""

SHOWN = 4
"""Ranges that a description names."""

_RANGE = re.compile(r"\s*([0-9]{1,18})(?:\s*-\s*([0-9]{1,18}))?\s*")


class Shards(Partition):
    """Deal the rows that the config names."""

    class Settings(Kinded):
        kind: Literal["shards"] = "shards"
        rows: list[list[int | str] | str] = Field(min_length=1)
        """For each client its training rows: numbers from 0, or ranges "0-99" with both ends. They are
        counted as the task deals them, which for finite data is a fixed shuffle of the file.
        """

        def model_post_init(self, context: object) -> None:
            """Raises ValueError if a shard is empty, no rows, too large, or overlaps another or itself."""
            spans = [spans_of(client, shard) for client, shard in enumerate(self.rows)]
            if sum(map(len, chain(*spans))) > MOST:
                raise ValueError(f"rows holds {sum(map(len, chain(*spans)))} rows: allowed are {MOST}")
            owned = sorted(
                (span.start, span.stop, client) for client, mine in enumerate(spans) for span in mine
            )
            for (_, stop, one), (start, _, other) in pairwise(owned):
                if start < stop:
                    raise ValueError(
                        f"rows holds row {start} for client {one} and for client {other}: allowed is once"
                    )

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        super().__init__(settings, task, clients, seed)
        if len(settings.rows) != clients:
            raise BadInput(
                f"partition.rows: has {len(settings.rows)} shards for clients.count = {clients}, expected is "
                "one for each client"
            )
        self.spans = [
            sorted(spans_of(i, shard), key=lambda span: span.start) for i, shard in enumerate(settings.rows)
        ]
        last = max(mine[-1][-1] for mine in self.spans)
        if task.rows is not None and last >= task.rows:
            raise BadInput(
                f"partition.rows: holds row {last}, but the task {task.settings.kind!r} has {task.rows} "
                f"training rows: allowed are 0 to {task.rows - 1}"
            )
        self.shards = shards_of([list(chain(*mine)) for mine in self.spans], seed)

    def rows(self, client: int, step: int, count: int) -> list[int]:
        return self.shards[client].deal(step * count, count)

    def share(self, client: int) -> float:
        return len(self.shards[client]) / sum(map(len, self.shards))

    def describe(self, client: int) -> str:
        mine = self.spans[client]
        named = [f"{span[0]}-{span[-1]}" if len(span) > 1 else f"{span[0]}" for span in mine[:SHOWN]]
        more = f" and {len(mine) - SHOWN} more" if len(mine) > SHOWN else ""
        size = f"{self.share(client):.0%} of the rows dealt, {len(self.shards[client]):,}"
        return f"rows {', '.join(named)}{more}: {size}"


def spans_of(client: int, shard: list[int | str] | str) -> list[range]:
    """A client's entries as ranges, none empty. Raises ValueError, which names the entry."""
    entries = [shard] if isinstance(shard, str) else shard
    if not entries:
        raise ValueError(f"rows holds nothing for client {client}: expected is at least one row")
    return [span_of(client, entry) for entry in entries]


def span_of(client: int, entry: int | str) -> range:
    found = _RANGE.fullmatch(str(entry))
    span = range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)
    if not span:
        raise ValueError(f'rows holds {entry!r} for client {client}: expected is a row from 0 on, or "0-99"')
    return span
