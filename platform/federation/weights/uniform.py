"""Every client counts alike."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator, AggregatorSettings


class Uniform(Aggregator):
    """FedAvg with equal weights: w_k = 1/K."""

    class Settings(AggregatorSettings):
        kind: Literal["uniform"] = "uniform"

    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        return np.ones(len(signals))
