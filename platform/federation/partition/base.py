"""What a partition is: it says which training rows a client of a federation sees, step by step."""

from abc import ABC, abstractmethod
from typing import ClassVar

from turncoat.platform.ids import seed_of
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

ROWS = 2**48
"""Where a run starts in endless data is drawn from so many rows: two runs hardly ever meet."""


class Partition(ABC):
    """Base of every partition, built as `cls(settings, task, clients, seed)`.

    No row is ever two clients'. All methods are pure: a client that resumes or returns sees the same rows.
    Raises BadInput when built, if a client would be left with (almost) no rows.
    """

    Settings: ClassVar[type[Kinded]]

    def __init__(self, settings: Kinded, task: Task, clients: int, seed: int):
        """clients: how many share the rows. seed: the run's; another seed deals other rows or orders."""
        self.settings = settings
        self.task = task
        self.clients = clients
        self.seed = seed
        self.first = seed_of(seed, "partition") % ROWS
        """Where the run starts in endless data."""

    @abstractmethod
    def rows(self, client: int, step: int, count: int) -> list[int]:
        """The `count` training rows of a client's local step, counted from 0 over the whole run.

        `count` is the same at every step of a client. Finite data repeat a row only once the client's shard
        is used up, each epoch in an order of its own; endless data never do.
        """

    @abstractmethod
    def share(self, client: int) -> float:
        """The client's part of all rows that are dealt; over all clients they sum to 1.

        Estimated from a sample where the data are endless.
        """

    @abstractmethod
    def describe(self, client: int) -> str:
        """What the client's rows are, for a report, e.g. `level 3: 21% of the rows dealt, 1,592`."""
