"""Trust the updates that have many others near them."""

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.robust.base import Rule, Standing, squared_distances
from turncoat.platform.registry import Kinded


class KrumSettings(Kinded):
    attackers: int = Field(1, ge=0)
    """f: how many clients are assumed to attack. The guarantee needs 2f + 3 clients in the round."""


class _Nearest(Rule):
    stage = "select"
    pairwise: ClassVar[bool] = True
    settings: KrumSettings

    @abstractmethod
    def keep(self, clients: int) -> int:
        """How many of so many stay in."""

    def apply(self, standing: Standing) -> Standing:
        live = standing.live
        attackers = self.settings.attackers
        if len(live) < 2 * attackers + 3:
            standing = standing.noting(
                f"{self.settings.kind}: {len(live)} clients do not hold {attackers} attackers; "
                f"that takes {2 * attackers + 3}"
            )
        scores = krum_scores(standing.gram[np.ix_(live, live)], attackers)
        best = np.argsort(scores, kind="stable")[: self.keep(len(live))]
        return standing.keeping(live[np.sort(best)])


class Krum(_Nearest):
    """Keep the one update that is nearest to its n − f − 2 nearest others.

    Blanchard et al. 2017, "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent". Stops:
    lone outliers. Defeated by: lies within the honest spread (`little_is_enough`), attackers that stand close
    together. With clients of different data it throws away what all but one have learnt.
    """

    class Settings(KrumSettings):
        kind: Literal["krum"] = "krum"

    def keep(self, clients: int) -> int:
        return 1


class MultiKrum(_Nearest):
    """Keep the updates that are nearest to their n − f − 2 nearest others: n − f of them, or `keep`.

    Blanchard et al. 2017. As `krum`, and the selected are weighed as if the others had been absent.
    """

    class Settings(KrumSettings):
        kind: Literal["multi_krum"] = "multi_krum"
        keep: int | None = Field(None, ge=1)
        """How many updates stay. Unset: all but `attackers`."""

    settings: Settings

    def keep(self, clients: int) -> int:
        return self.settings.keep or max(1, clients - self.settings.attackers)


def krum_scores(gram: NDArray[np.float64], attackers: int) -> NDArray[np.float64]:
    """[n] sum of squared distances to the n − f − 2 nearest others, at least one. gram: [n, n]."""
    distances = squared_distances(gram)
    np.fill_diagonal(distances, np.inf)
    near = max(1, len(gram) - attackers - 2)
    return np.sort(distances, axis=1)[:, :near].sum(axis=1)
