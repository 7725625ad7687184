"""Trust the updates that point where the server's own does."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from turncoat.platform.federation.robust.base import Rule, Standing
from turncoat.platform.registry import Kinded

LONGEST_STRETCH = 1e12
"""No update is lengthened by more: one whose length is next to nothing has no direction to trust either, and
the factor of the shortest ones does not fit float32."""


class FLTrust(Rule):
    """Weigh updates by max(0, cosine to the server's own update), each scaled to its length.

    Cao et al. 2021, arXiv 2012.13995. The server trains a round on a little clean data of its own: that is
    what it takes, and where its data differ from the clients', it trusts who is like it. The clients' weights
    do not count. Where no one is trusted, or the server's own update is missing, the policy stays as it is.
    """

    class Settings(Kinded):
        kind: Literal["fltrust"] = "fltrust"

    stage = "weigh"
    rooted: ClassVar[bool] = True

    def apply(self, standing: Standing) -> Standing:
        geometry = standing.geometry
        if geometry.root is None:
            alone = standing.noting("fltrust: the server's own update did not come in time; no step")
            return replace(alone, coefficients=np.zeros(len(standing.weights)))
        along = standing.factors * geometry.along_root
        norms, root = standing.norms, geometry.root_norm
        counted = (standing.weights > 0) & (norms * LONGEST_STRETCH > root) & (root > 0)
        trust = np.zeros(len(norms))
        np.divide(np.maximum(along, 0), norms * root, out=trust, where=counted)
        if not trust.any():
            nobody = standing.noting("fltrust: no update points where the server's own does; no step")
            return replace(nobody, coefficients=trust)
        coefficients = np.zeros(len(norms))
        np.divide(trust / trust.sum() * root, norms, out=coefficients, where=counted)
        return replace(standing, coefficients=coefficients)
