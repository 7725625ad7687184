"""What an attack on the numbers is: it rewrites what a client would send, its signal or its update."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.federation.signals import Signal
from turncoat.platform.registry import Kinded

Vector = NDArray[np.float32]

LONGEST = 1e30
"""No entry of a lie is larger: what no format could carry would end the run in the liar's own encoder. The
server refuses less than that."""


class LieSettings(Kinded):
    """What every attack on the numbers may be told. An attack's nested `Settings` derive from this."""

    onset_round: int = Field(1, ge=1)
    """The first round of the attack; before it the client is honest."""


class Lie(ABC):
    """Base of every attack on the numbers, built as `cls(settings)`, one for each malicious client.

    It knows what its client knows: its own honest round, and what the server sends to everyone. Attacks on
    the data are `attacks` in the client, and can be mounted beside it.
    """

    Settings: ClassVar[type[LieSettings]]

    def __init__(self, settings: LieSettings):
        self.settings = settings
        self.memory: dict[str, Vector] = {}

    @property
    def oracle(self) -> bool:
        """Whether it is shown the honest clients' updates of the round, which no real client sees."""
        return False

    def observe(self, moved: Vector) -> None:  # noqa: B027  # most do not care
        """moved: [N] by how much the last round moved the policy. Called before every round but the first."""

    def corrupt(
        self, signal: Signal, delta: Vector, round: int, seed: int, others: Sequence[Vector] = ()
    ) -> tuple[Signal, Vector]:
        """What the client sends instead of its honest signal and update [N], which stay as they are.

        The signal's `nnz` is not touched: whoever compresses the update counts its entries. others: the
        honest clients' updates, for an `oracle`.
        """
        self.remember(delta)
        if round < self.settings.onset_round:
            return signal, delta
        with np.errstate(over="ignore", invalid="ignore"):
            signal, sent = self.lie(signal, delta, seed, others)
        if sent is delta:
            return signal, delta
        return signal, np.clip(np.nan_to_num(sent), -LONGEST, LONGEST)

    def remember(self, delta: Vector) -> None:  # noqa: B027  # most forget
        """Take note of an honest update, before and during the attack."""

    @abstractmethod
    def lie(
        self, signal: Signal, delta: Vector, seed: int, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        """The attack itself; see `corrupt`."""

    def state(self) -> dict[str, Vector]:
        """Name -> vector: a snapshot, since memory is replaced and never changed in place."""
        return dict(self.memory)

    def load(self, state: Mapping[str, Vector]) -> None:
        """Take up what `state` returned, as a copy."""
        self.memory = {name: np.array(vector, np.float32) for name, vector in state.items()}
