"""Long updates are shortened."""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from turncoat.platform.federation.robust.base import Rule, Standing
from turncoat.platform.registry import Kinded


class NormClip(Rule):
    """Scale every update down to a largest length (Sun et al. 2019, arXiv 1911.07963).

    Stops: `scaled_update`. Blind to: any lie within the length, such as `sign_flip`. The median holds while
    fewer than half of the clients lie. Where half of the updates or more are empty it is 0: no step, and a
    run is warned.
    """

    class Settings(Kinded):
        kind: Literal["norm_clip"] = "norm_clip"
        norm: Annotated[float, Field(gt=0)] | Literal["median"] = "median"
        """The largest Euclidean length; `median`: that of the round's updates."""

    settings: Settings
    stage = "clip"

    def apply(self, standing: Standing) -> Standing:
        norms = standing.norms
        bound = self.settings.norm
        limit = float(np.median(norms[standing.live])) if bound == "median" else bound
        shrink = np.ones(len(norms))
        np.divide(limit, norms, out=shrink, where=norms > limit)
        if limit == 0 and norms[standing.live].any():
            standing = standing.noting(
                "norm_clip: half of the updates are empty, and so is the median's length"
            )
        return replace(standing, factors=standing.factors * shrink)
