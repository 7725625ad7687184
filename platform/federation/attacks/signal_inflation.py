"""Claim that one's rewards vary more than they do: it buys weight and bandwidth."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Literal

import numpy as np

from turncoat.platform.federation.attacks.base import Lie, LieSettings, Vector
from turncoat.platform.federation.signals import Signal


class SignalInflation(Lie):
    """Report a large σ, which `signal_weighted` and the signal budget pay for. Our own.

    Stopped by: the consistency check, if the claim is `largest`; a cap on weights bounds what all claims buy.
    Alone it only makes an update count more: with `factor`, or beside an attack on the data, it carries one.
    """

    class Settings(LieSettings):
        kind: Literal["signal_inflation"] = "signal_inflation"
        claim: Literal["largest", "consistent", "forged"] = "consistent"
        """`largest`: σ = ½ beside the true μ. `consistent`: √(μ(1−μ)), the largest σ that the check believes
        beside the true μ. `forged`: σ = ½ and μ = ½, which it believes as well, and which also moves the
        global mean reward."""
        factor: float = 1.0
        """Multiplies the update; -1 turns it round."""

    settings: Settings

    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        sent = delta if self.settings.factor == 1 else np.float32(self.settings.factor) * delta
        match self.settings.claim:
            case "largest":
                return replace(signal, sigma=0.5), sent
            case "forged":
                return replace(signal, sigma=0.5, mu=0.5, silent=0.0), sent
            case "consistent":
                return replace(signal, sigma=sqrt(max(0.0, signal.mu * (1 - signal.mu)))), sent
