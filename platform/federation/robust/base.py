"""What a robust rule is: a step between the clients' weights and the sum of their updates."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.robust.geometry import Geometry
from turncoat.platform.registry import Kinded

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""[n, C] the values that n clients have at C coordinates -> [C] what becomes of them."""


@dataclass(frozen=True)
class Standing:
    """How K clients stand between two steps, in ascending order of clients.

    weights: [K], summing to 1, 0 for who is out. factors: [K], what clipping multiplies each update with.
    reweigh: ([K] bool, who stays in) -> [K] weights. coefficients: [K], of the clipped updates, where a rule
    sets them in place of the weights; they need not sum to 1. combine: coordinate by coordinate instead of a
    weighted sum. notes: warnings for the log.
    """

    weights: NDArray[np.float64]
    factors: NDArray[np.float64]
    geometry: Geometry
    reweigh: Callable[[NDArray[np.bool_]], NDArray[np.float64]]
    coefficients: NDArray[np.float64] | None = None
    combine: Combine | None = None
    notes: tuple[str, ...] = ()

    @property
    def live(self) -> NDArray[np.intp]:
        """Positions of those that are in."""
        return np.flatnonzero(self.weights > 0)

    @property
    def norms(self) -> NDArray[np.float64]:
        """[K] lengths of the clipped updates."""
        return self.factors * self.geometry.norms

    @property
    def gram(self) -> NDArray[np.float64]:
        """[K, K] inner products of the clipped updates."""
        return self.factors[:, None] * self.factors * self.geometry.gram

    def keeping(self, positions: NDArray[np.intp]) -> "Standing":
        """Only these stay in; the weights are those of a round in which the others were absent."""
        chosen = np.zeros(len(self.weights), bool)
        chosen[positions] = True
        return replace(self, weights=self.reweigh(chosen & (self.weights > 0)))

    def noting(self, text: str) -> "Standing":
        return replace(self, notes=(*self.notes, text))


class Rule(ABC):
    """Base of every robust rule, built as `cls(settings)`. It sees numbers only, and not who is honest.

    How many clients may attack is an assumption of whoever writes the config, not the truth about the run.
    A client of weight 0 has no say in any rule.
    """

    Settings: ClassVar[type[Kinded]]
    stage: ClassVar[Literal["clip", "select", "weigh"]]
    """Rules stand in this order: clip, select, weigh; of the last kind there is one at most."""
    pairwise: ClassVar[bool] = False
    """It needs the inner products of all pairs."""
    rooted: ClassVar[bool] = False
    """It needs an update of the server's own."""

    def __init__(self, settings: Kinded):
        self.settings = settings

    @abstractmethod
    def apply(self, standing: Standing) -> Standing:
        """How the clients stand after this step. At least one is in."""


def squared_distances(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n, n] from inner products [n, n]; rounding leaves no negative ones, and 0 on the diagonal."""
    squares = np.diag(gram)
    return np.maximum(squares[:, None] + squares - 2 * gram, 0)
