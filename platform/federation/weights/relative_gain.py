"""A client counts more while it does better than it used to."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator, AggregatorSettings


class RelativeGain(Aggregator):
    """FGRPO-style weights by each client's relative gain in reward: an approximation.

    b_k ← (1−a) b_k + a μ_k;  g_k = (μ_k − b_k) / (|b_k| + ε);  w_k ∝ n_k exp(g_k / τ). The baseline b_k
    starts at the client's first μ_k, with a gain of 0. FGRPO's own formula is not public to us: results under
    this name are not FGRPO's. μ_k is the client's own word.
    """

    class Settings(AggregatorSettings):
        kind: Literal["relative_gain"] = "relative_gain"
        rate: float = Field(0.2, gt=0, le=1)
        """a: how fast the baseline follows. A gain is at most (1−a)/a."""
        temperature: float = Field(1.0, ge=1e-6)
        """τ: the smaller, the more a gain counts."""
        epsilon: float = Field(1e-6, ge=1e-12)
        """ε, for a baseline of 0."""

    settings: Settings

    def __init__(self, settings: "RelativeGain.Settings"):
        super().__init__(settings)
        self.baselines: dict[int, float] = {}

    def observe(self, signals: Sequence[Signal]) -> None:
        rate = self.settings.rate
        for signal in signals:
            before = self.baselines.get(signal.client, signal.mu)
            self.baselines[signal.client] = (1 - rate) * before + rate * signal.mu

    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        mu = np.array([signal.mu for signal in signals], np.float64)
        baseline = np.array([self.baselines.get(signal.client, signal.mu) for signal in signals], np.float64)
        gain = (mu - baseline) / (np.abs(baseline) + self.settings.epsilon) / self.settings.temperature
        return np.array([signal.n for signal in signals]) * np.exp(gain - gain.max(initial=-np.inf))

    def state(self) -> dict[str, Any]:
        return {"baselines": sorted(self.baselines.items())}

    def load(self, state: Mapping[str, Any]) -> None:
        self.baselines = dict(map(tuple, state["baselines"]))
