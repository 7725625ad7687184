"""Coordinate by coordinate, the value in the middle."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.robust.base import Rule, Standing
from turncoat.platform.registry import Kinded


class CoordinateMedian(Rule):
    """The median at each coordinate; of an even number of clients, the mean of the middle two.

    Yin et al. 2018, arXiv 1803.01498. Every client counts alike, whatever its weight. Trap: where fewer than
    half of the clients move a coordinate, its median is 0: sparse updates stop training; a run is warned.
    """

    class Settings(Kinded):
        kind: Literal["coordinate_median"] = "coordinate_median"

    stage = "weigh"

    def apply(self, standing: Standing) -> Standing:
        return replace(standing, combine=_median)


def _median(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.median(values, axis=0)
