"""Whole values of a column dealt to clients: a level, a topic or a range of lengths belongs to one client."""

from typing import Literal

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.column import LENGTH, Column, Value
from turncoat.platform.federation.partition.owned import OwnedPartition
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task


class ByLevel(OwnedPartition):
    """Deal the difficulty levels out: the lowest to client 0, in turn. Rows without a level are left out.

    Five clients on five levels are the split of Fed-GRPO (arXiv 2610.11502).
    """

    class Settings(Kinded):
        kind: Literal["by_level"] = "by_level"

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        column = Column(task, "level")
        super().__init__(settings, task, clients, seed, column, whole(column, settings.kind, clients))


class ByTopic(OwnedPartition):
    """Deal the topics out, in turn and by name, as MATH's subjects. Rows without a topic are left out."""

    class Settings(Kinded):
        kind: Literal["by_topic"] = "by_topic"

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        column = Column(task, "topic")
        super().__init__(settings, task, clients, seed, column, whole(column, settings.kind, clients))


class ByLength(OwnedPartition):
    """Deal the rows by the length of their solution: the shortest to client 0.

    Each client has as many as the next, as far as equal lengths allow.
    """

    class Settings(Kinded):
        kind: Literal["by_length"] = "by_length"

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        column = Column(task, LENGTH, quantiles=clients)
        super().__init__(settings, task, clients, seed, column, whole(column, settings.kind, clients))


def whole(column: Column, kind: str, clients: int) -> dict[Value, list[float]]:
    """The chances of a deal of whole values, sorted, in turn. Raises BadInput if there are too few."""
    values = sorted(column.counts, key=lambda value: (isinstance(value, str), value))
    if len(values) < clients:
        labels = ", ".join(column.label(value) for value in values)
        raise BadInput(
            f"partition.kind: {kind!r} finds {len(values)} ({labels}) in the task's rows for clients.count = "
            f"{clients}, expected is at least one for each client"
        )
    return {
        value: [float(i % clients == client) for client in range(clients)] for i, value in enumerate(values)
    }
