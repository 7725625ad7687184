"""A client counts as much as its rewards vary: where nothing varies there is nothing to learn."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator, AggregatorSettings


class SignalWeighted(Aggregator):
    """Weights in proportion to the standard deviation of rewards: w_k = σ_k^γ / Σ σ_j^γ (Fed-GRPO).

    Guo et al. 2026, arXiv 2610.11502, as we reconstruct it. σ_k = 0 has weight 0, whatever γ. Equal σ are
    `uniform`, not `by_samples`. σ_k is the client's own word: without a cap or a robust rule, who says 0.5 is
    the strongest client.
    """

    class Settings(AggregatorSettings):
        kind: Literal["signal_weighted"] = "signal_weighted"
        gamma: float = Field(1.0, ge=0)
        """γ: how much a larger σ counts. 0: all clients that have a signal count alike."""
        times_n: bool = False
        """Multiply by n_k, the client's completions."""

    settings: Settings

    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        sigma = np.array([signal.sigma for signal in signals], np.float64)
        live = sigma > 0
        if not live.any():
            return np.zeros(len(signals))
        # Relative to the largest: a power of a small σ alone could vanish.
        shares = np.where(live, (sigma / sigma.max()) ** self.settings.gamma, 0.0)
        return shares * [signal.n for signal in signals] if self.settings.times_n else shares
