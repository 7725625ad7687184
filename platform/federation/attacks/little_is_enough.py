"""Shift each coordinate by as little as honest clients differ among themselves."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from turncoat.platform.federation.attacks.base import Lie, LieSettings, Vector
from turncoat.platform.federation.signals import Signal


class LittleIsEnough(Lie):
    """Send mean − z · std of the honest updates, coordinate by coordinate (Baruch et al. 2019, 1902.06156).

    What honest clients send it can only guess: the mean is its own honest update, and the standard deviation
    that of its own honest updates so far, those before the attack's onset too. In its first round there is
    none, and it is honest. As an oracle it has the honest clients' true ones of the round. Defeats: Krum,
    trimmed mean and median, where z is small against the spread of honest updates.
    """

    class Settings(LieSettings):
        kind: Literal["little_is_enough"] = "little_is_enough"
        z: float = Field(1.0, gt=0)
        """How many standard deviations."""
        oracle: bool = False
        """It sees what the honest clients send this round: an upper bound on the attack, not a real one."""

    settings: Settings

    @property
    def oracle(self) -> bool:
        return self.settings.oracle

    def remember(self, delta: Vector) -> None:
        """Welford's running mean and sum of squared deviations."""
        if self.settings.oracle:
            return
        nothing = np.zeros_like(delta)
        count = self.memory.get("count", np.zeros(1, np.float32)) + np.float32(1)
        away = delta - self.memory.get("mean", nothing)
        mean = self.memory.get("mean", nothing) + away / count
        squares = self.memory.get("squares", nothing) + away * (delta - mean)
        self.memory = {"count": count, "mean": mean, "squares": squares}

    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        if self.settings.oracle:
            seen = np.stack([delta, *others])
            mean, std = seen.mean(axis=0), seen.std(axis=0)
        else:
            # Rounding can leave a sum of squares a little below 0.
            mean, std = delta, np.sqrt(np.maximum(self.memory["squares"], 0) / self.memory["count"])
        return signal, (mean - np.float32(self.settings.z) * std).astype(np.float32)
