"""Send many times what one has learnt."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from turncoat.platform.federation.attacks.base import Lie, LieSettings, Vector
from turncoat.platform.federation.signals import Signal


class ScaledUpdate(Lie):
    """Scale the update up until it outweighs the others (model replacement).

    Bagdasaryan et al. 2020, arXiv 1807.00459. Mounted with an attack on the data, it carries the backdoor.
    Stopped by a norm clip.
    """

    class Settings(LieSettings):
        kind: Literal["scaled_update"] = "scaled_update"
        factor: float = Field(10.0, gt=0)
        """1 over the client's weight replaces the policy by the client's own."""

    settings: Settings

    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        return signal, np.float32(self.settings.factor) * delta
