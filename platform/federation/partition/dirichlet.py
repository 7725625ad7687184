"""Rows of each value of a column shared by a Dirichlet draw (Hsu et al. 2019, arXiv 1909.06335)."""

import math
import random
from typing import Literal

from pydantic import Field

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.column import Column, Value
from turncoat.platform.federation.partition.owned import SMALLEST, OwnedPartition
from turncoat.platform.ids import seed_of
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

DRAWS = 100
"""How often the shares are drawn again for the sake of the smallest."""


class Dirichlet(OwnedPartition):
    """Share each value's rows among the clients by Dir(alpha): small alpha, unlike clients."""

    class Settings(Kinded):
        kind: Literal["dirichlet"] = "dirichlet"
        alpha: float = Field(0.5, ge=1e-6, le=1e6)
        """Near 0 each value is one client's; large, every client has the same mixture."""
        column: str = "level"
        """level, topic, length (of the solution, by quantiles), or another field of a prompt. Rows without a
        level or topic are left out.
        """
        quantiles: int = Field(5, ge=2, le=64)
        """Into how many parts of equal size `length` is cut."""
        min_share: float = Field(0.05, ge=0, lt=1)
        """Draw again, up to a hundred times, until each client has this part of an equal share."""

    def __init__(self, settings: Settings, task: Task, clients: int, seed: int):
        column = Column(task, settings.column, settings.quantiles)
        chances = drawn(column, settings, clients, seed)
        super().__init__(settings, task, clients, seed, column, chances)


def drawn(column: Column, settings: Dirichlet.Settings, clients: int, seed: int) -> dict[Value, list[float]]:
    """Value -> the clients' shares of its rows. Raises BadInput if no draw gives each client enough."""
    least = max(settings.min_share / clients, SMALLEST if column.task.rows is None else 0)
    for draw in range(DRAWS):
        chances = {
            value: shares(settings.alpha, clients, seed_of(seed, "dirichlet", draw, column.name, value))
            for value in column.counts
        }
        rows = [
            sum(column.counts[value] * each[client] for value, each in chances.items())
            for client in range(clients)
        ]
        if min(rows) >= least * column.counts.total():
            return chances
    raise BadInput(
        f"partition.alpha: {settings.alpha} gives a client less than {least:.2%} of the rows in {DRAWS} "
        f"draws over {len(column.counts)} values of {column.name!r} and clients.count = {clients}, expected "
        "is a larger alpha, a smaller partition.min_share or fewer clients"
    )


def shares(alpha: float, clients: int, seed: int) -> list[float]:
    """One draw of Dir(alpha, ..., alpha), [clients], by normalised gammas."""
    rng = random.Random(seed)
    # In logarithms, by Gamma(a) = Gamma(a + 1) * U^(1/a): for small alpha the gammas themselves are all 0.
    logs = [
        math.log(rng.gammavariate(alpha + 1, 1.0)) + math.log(1 - rng.random()) / alpha
        for _ in range(clients)
    ]
    parts = [math.exp(log - max(logs)) for log in logs]
    return [part / sum(parts) for part in parts]
