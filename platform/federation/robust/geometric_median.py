"""The point whose distances to all updates sum to the least."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.robust.base import Rule, Standing
from turncoat.platform.registry import Kinded

SETTLED = 1e-8
"""The point moves by less, in medians of the updates' lengths: done. Coefficients alone would not do: that of
an update of length 1e30 is tiny and not yet small enough."""


class GeometricMedian(Rule):
    """The weighted geometric median, by smoothed Weiszfeld steps (RFA, Pillutla et al., arXiv 1912.13445).

    It is a weighted mean of the updates, and only the coefficients are iterated on. Holds while liars have
    less than half of the *weight*; with `weighted` off, while they are less than half of the clients.
    """

    class Settings(Kinded):
        kind: Literal["geometric_median"] = "geometric_median"
        weighted: bool = True
        """Distances count by the clients' weights, as in RFA. Off: alike, so that weight cannot be bought."""
        smoothing: float = Field(1e-6, gt=0)
        """ν: shorter distances count as this, in medians of the updates' lengths."""
        iterations: int = Field(1000, ge=1)
        """The most steps. They are on K numbers each: most rounds take a few dozen."""

    settings: Settings
    stage = "weigh"
    pairwise: ClassVar[bool] = True

    def apply(self, standing: Standing) -> Standing:
        live = standing.live
        weights = standing.weights[live] if self.settings.weighted else np.full(len(live), 1 / len(live))
        gram = standing.gram[np.ix_(live, live)]
        coefficients = np.zeros(len(standing.weights))
        coefficients[live], settled = weiszfeld(
            gram, weights, self.settings.smoothing, self.settings.iterations
        )
        if not settled:
            standing = standing.noting(f"geometric_median: not settled in {self.settings.iterations} steps")
        return replace(standing, coefficients=coefficients)


def weiszfeld(
    gram: NDArray[np.float64], weights: NDArray[np.float64], smoothing: float, iterations: int
) -> tuple[NDArray[np.float64], bool]:
    """([n] coefficients that sum to 1, whether they have settled). gram: [n, n] inner products.

    β_k = w_k / max(ν, ‖z − Δ_k‖), normalised; z ← Σ β_k Δ_k. ‖z − Δ_k‖² = βᵀGβ − 2 (Gβ)_k + G_kk.
    """
    squares = np.diag(gram)
    scale = float(np.median(np.sqrt(squares)))
    least = max(smoothing * scale, np.finfo(np.float64).tiny)
    present = weights
    if not squares.any():
        return present, True
    for _ in range(iterations):
        along = gram @ present
        distances = np.sqrt(np.maximum(present @ along - 2 * along + squares, 0))
        pull = weights / np.maximum(distances, least)
        following = pull / pull.max()
        following = following / following.sum()
        moved = following - present
        if np.sqrt(max(moved @ gram @ moved, 0)) <= SETTLED * scale:
            return following, True
        present = following
    return present, False
