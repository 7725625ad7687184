"""What an aggregator is: from the clients' signals it says how much each update counts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.signals import Signal
from turncoat.platform.registry import Kinded


class AggregatorSettings(Kinded):
    """What every aggregator may be told. An aggregator's nested `Settings` derive from this."""

    w_max: float | None = Field(None, gt=0, le=1)
    """No client's weight is above this; the excess goes to the others in proportion to theirs. Where fewer
    than 1/w_max clients have any weight, all of these count equally. Unset: no cap."""


class Aggregator(ABC):
    """Base of every aggregator, built as `cls(settings)`.

    Once a round, it observes the signals that were believed; then it is asked for weights, perhaps more than
    once, since who drops out or is not selected leaves its weight to the rest.
    """

    Settings: ClassVar[type[AggregatorSettings]]

    def __init__(self, settings: AggregatorSettings):
        self.settings = settings

    @abstractmethod
    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        """[K] finite numbers >= 0, in proportion to which the clients count; 0 leaves a client out."""

    def weigh(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        """[K] weights that sum to 1, or all 0 where no client has a share: the policy then stays as it is.

        signals: in ascending order of clients, which is the order of every sum. Raises ValueError else.
        """
        clients = [signal.client for signal in signals]
        if clients != sorted(set(clients)):
            raise ValueError(f"signals are in the order of clients {clients}; allowed is an ascending one")
        return normalised(self.shares(signals), self.settings.w_max)

    def observe(self, signals: Sequence[Signal]) -> None:  # noqa: B027  # most remember nothing
        """Take note of a round's signals, once."""

    def state(self) -> dict[str, Any]:
        """All that it remembers, as JSON."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:  # noqa: B027  # most remember nothing
        """Take up what `state` returned."""


def normalised(shares: NDArray[np.float64], w_max: float | None = None) -> NDArray[np.float64]:
    """[K] weights in proportion to `shares` [K], capped at `w_max`; all 0 where the shares are."""
    shares = np.asarray(shares, np.float64)
    if not shares.any():
        return np.zeros(len(shares))
    # Divided by the largest first, so that the sum neither overflows nor vanishes.
    weights = shares / shares.max()
    weights = weights / weights.sum()
    if w_max is None:
        return weights
    live = weights > 0
    if w_max * live.sum() <= 1:
        return np.where(live, 1 / live.sum(), 0.0)
    open_ = live.copy()
    while (over := open_ & (weights > w_max)).any():
        open_ &= ~over
        weights[over] = w_max
        left = 1 - w_max * (live & ~open_).sum()
        weights[open_] = weights[open_] / weights[open_].sum() * left
    return weights
