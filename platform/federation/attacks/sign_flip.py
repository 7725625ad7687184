"""Send the opposite of what one has learnt."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from turncoat.platform.federation.attacks.base import Lie, LieSettings, Vector
from turncoat.platform.federation.signals import Signal


class SignFlip(Lie):
    """Turn the update round, so that the policy unlearns (Li et al. 2019, arXiv 1811.03761).

    Its length is honest: no norm clip sees it at `factor` 1. Its direction is not: FLTrust does.
    """

    class Settings(LieSettings):
        kind: Literal["sign_flip"] = "sign_flip"
        factor: float = Field(1.0, gt=0)
        """How many times as long."""

    settings: Settings

    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        return signal, np.float32(-self.settings.factor) * delta
