"""Rows dealt without regard to what they hold: every client sees the same mixture."""

import random
from typing import Literal

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.base import Partition
from turncoat.platform.federation.partition.shard import shards_of
from turncoat.platform.ids import seed_of
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task


class Iid(Partition):
    """Deal all rows out at random, equally many to each client."""

    class Settings(Kinded):
        kind: Literal["iid"] = "iid"

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        super().__init__(settings, task, clients, seed)
        if task.rows is None:
            return
        if task.rows < clients:
            raise BadInput(
                f"partition.kind: 'iid' has {task.rows} training rows for clients.count = {clients}, "
                "expected is at least one for each client"
            )
        order = list(range(task.rows))
        random.Random(seed_of(seed, "iid")).shuffle(order)
        self.shards = shards_of([order[client::clients] for client in range(clients)], seed)

    def rows(self, client: int, step: int, count: int) -> list[int]:
        if self.task.rows is not None:
            return self.shards[client].deal(step * count, count)
        places = range(step * count, (step + 1) * count)
        return [self.first + place * self.clients + client for place in places]

    def share(self, client: int) -> float:
        return 1 / self.clients if self.task.rows is None else len(self.shards[client]) / self.task.rows

    def describe(self, client: int) -> str:
        rows = "endless rows" if self.task.rows is None else f"the rows dealt, {len(self.shards[client]):,}"
        return f"any: {self.share(client):.0%} of {rows}"
