"""A client counts as much as it has samples."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator, AggregatorSettings


class BySamples(Aggregator):
    """FedAvg (McMahan et al. 2017, arXiv 1602.05629): w_k = n_k / Σ n_j, by the round's completions."""

    class Settings(AggregatorSettings):
        kind: Literal["by_samples"] = "by_samples"

    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        return np.array([signal.n for signal in signals], np.float64)
