"""Take the policy and send nothing of one's own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from turncoat.platform.federation.attacks.base import Lie, LieSettings, Vector
from turncoat.platform.federation.signals import Signal


class FreeRider(Lie):
    """Train on nothing, and send something that looks like an update (Lin et al. 2019, arXiv 1911.12560).

    The signal is forged: who has not trained has no rewards. In the first round, when no movement of the
    policy was seen yet, all three send zeros.
    """

    class Settings(LieSettings):
        kind: Literal["free_rider"] = "free_rider"
        sends: Literal["zero", "noise", "replay"] = "noise"
        """`noise`: normal, at the coordinates at which the policy moved last, of that movement's size.
        `replay`: that movement, sent back."""
        mu: float = Field(0.5, ge=0, le=1)
        """The mean reward that it claims; its accuracy too, where clients report one."""
        sigma: float = Field(0.25, ge=0, le=0.5)
        """The standard deviation that it claims."""

        @model_validator(mode="after")
        def it_can_be_believed(self) -> "FreeRider.Settings":
            if self.sigma**2 > self.mu * (1 - self.mu):
                raise ValueError(
                    f"sigma is {self.sigma} beside mu {self.mu}; allowed is at most the root of mu (1 - mu)"
                )
            return self

    settings: Settings

    def observe(self, moved: Vector) -> None:
        if self.settings.sends != "zero":
            self.memory["moved"] = moved.copy()

    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        mu = self.settings.mu
        accuracy = None if signal.accuracy is None else mu
        claim = replace(signal, mu=mu, sigma=self.settings.sigma, silent=0.0, accuracy=accuracy)
        moved = self.memory.get("moved")
        if moved is None:
            return claim, np.zeros_like(delta)
        if self.settings.sends == "replay":
            return claim, moved.copy()
        sent = np.zeros_like(delta)
        at = np.flatnonzero(moved)
        if len(at):
            size = np.sqrt(np.square(moved[at], dtype=np.float64).mean())
            sent[at] = size * np.random.default_rng(seed).standard_normal(len(at), np.float32)
        return claim, sent
