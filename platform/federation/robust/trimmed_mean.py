"""Coordinate by coordinate, leave the extremes out."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.robust.base import Rule, Standing
from turncoat.platform.registry import Kinded


class TrimmedMean(Rule):
    """The mean of what is left at each coordinate without the f largest and the f smallest values.

    Yin et al. 2018, arXiv 1803.01498. Every client counts alike, whatever its weight. Trap: sparse updates
    are 0 at most coordinates, and so is their trimmed mean; a run is warned.
    """

    class Settings(Kinded):
        kind: Literal["trimmed_mean"] = "trimmed_mean"
        attackers: int = Field(1, ge=0)
        """f: how many clients are assumed to attack. Takes more than 2f clients; with fewer, as many are
        left out as leave one or two."""

    settings: Settings
    stage = "weigh"

    def apply(self, standing: Standing) -> Standing:
        clients = len(standing.live)
        attackers = self.settings.attackers
        if clients <= 2 * attackers:
            standing = standing.noting(
                f"trimmed_mean: {clients} clients do not hold {attackers} attackers; "
                f"that takes {2 * attackers + 1}"
            )
        return replace(standing, combine=self._mean)

    def _mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        clients = len(values)
        out = min(self.settings.attackers, (clients - 1) // 2)
        return np.sort(values, axis=0)[out : clients - out].mean(axis=0)
