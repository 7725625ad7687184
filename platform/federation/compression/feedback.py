"""Error feedback: what was not sent is not lost, but added to what is to be sent next time."""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.sparse import Sparse


class ErrorFeedback:
    """e ← β e + Δ before a client sends, e ← e - sent after.

    With β = 1 all that was ever sent and what is left add up to all updates. `sent` is what the receiver
    decodes, so that rounding and quantisation are fed back too. Source: Karimireddy et al. 2019, arXiv
    1901.09847; with β < 1 SparseLoCo (Sarfi et al. 2025, arXiv 2508.15706).
    """

    def __init__(self, length: int, decay: float = 1.0):
        self.decay = decay
        self.residual = np.zeros(length, np.float32)

    def add(self, start: int, delta: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take in Δ of the entries from `start`; returns s = β e + Δ there, a view to be read only."""
        part = self.residual[start : start + len(delta)]
        if self.decay != 1.0:
            part *= np.float32(self.decay)
        part += delta
        return part

    def sent(self, update: Sparse) -> None:
        """These entries are on their way."""
        self.residual[update.where] -= update.values

    def state(self) -> NDArray[np.float32]:
        """[N] float32, a copy: all there is to keep."""
        return self.residual.copy()

    def load(self, state: NDArray[np.float32]) -> None:
        """Go on from `state`. Raises ValueError if it is one of another vector, or is not finite."""
        if state.shape != self.residual.shape:
            raise ValueError(f"error feedback of {state.shape} entries; allowed is {self.residual.shape}")
        if not np.isfinite(state).all():
            raise ValueError("error feedback holds NaN or infinite entries")
        self.residual[:] = state
