"""How the server steps: the clients' combined update is a direction, and this is the optimiser on it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

CHUNK = 1 << 16
"""Entries that are worked on at once: bounds what a step needs beside the state."""


class ServerOptimiser(ABC):
    """Base of the three. All arithmetic is float32, entry by entry: the same bits on every run."""

    remembers: ClassVar[tuple[str, ...]] = ()
    """Names of its vectors of length N, 0 before the first step."""

    def __init__(self, lr: float):
        """lr: η."""
        self.lr = lr
        self.memory: dict[str, Vector] = {}

    @property
    def lands(self) -> bool:
        """Whether a step leads exactly to where the clients' mean lies, with nothing added or remembered."""
        return False

    def step(self, weights: Vector, update: Vector) -> None:
        """Move `weights` [N] in place along `update` [N] = Σ w_k Δ_k."""
        for name in self.remembers:
            self.memory.setdefault(name, np.zeros(len(weights), np.float32))
        for start in range(0, len(weights), CHUNK):
            part = slice(start, start + CHUNK)
            weights[part] += self._move(update[part], *(self.memory[name][part] for name in self.remembers))

    @abstractmethod
    def _move(self, update: Vector, *memory: Vector) -> Vector:
        """What to add to these entries. Changes their memory in place."""

    def state(self) -> dict[str, Vector]:
        """Name -> [N] float32, for a checkpoint: the arrays themselves."""
        return dict(self.memory)

    def load(self, state: Mapping[str, Vector]) -> None:
        """Take up what `state` returned, as a copy."""
        self.memory = {name: np.array(vector, np.float32) for name, vector in state.items()}


class Sgd(ServerOptimiser):
    """θ ← θ + η Σ w_k Δ_k. With η = 1, FedAvg."""

    @property
    def lands(self) -> bool:
        return self.lr == 1

    def _move(self, update: Vector, *memory: Vector) -> Vector:
        return update if self.lr == 1 else np.float32(self.lr) * update


class Nesterov(ServerOptimiser):
    """v ← m v + u;  θ ← θ + η (u + m v): DiLoCo's outer step (Douillard et al., arXiv 2311.08105).

    There η is 0.7 and m 0.9. A steady u makes steps of η u / (1 − m), ten times as long.
    """

    remembers = ("velocity",)

    def __init__(self, lr: float, momentum: float):
        """momentum: m."""
        super().__init__(lr)
        self.momentum = np.float32(momentum)

    def _move(self, update: Vector, *memory: Vector) -> Vector:
        (velocity,) = memory
        velocity *= self.momentum
        velocity += update
        return np.float32(self.lr) * (update + self.momentum * velocity)


class Adam(ServerOptimiser):
    """m ← β₁ m + (1−β₁) u;  v ← β₂ v + (1−β₂) u²;  θ ← θ + η m / (√v + ε): FedAdam, without bias correction.

    Reddi et al. 2021, arXiv 2003.00295, algorithm 2, there with ε = 1e-3. With an ε far below the updates,
    every entry moves by about η, whatever the clients sent: η then has the size of a learning rate.
    """

    remembers = ("mean", "square")

    def __init__(self, lr: float, beta1: float, beta2: float, epsilon: float):
        super().__init__(lr)
        self.beta1, self.beta2 = np.float32(beta1), np.float32(beta2)
        self.epsilon = np.float32(epsilon)

    def _move(self, update: Vector, *memory: Vector) -> Vector:
        mean, square = memory
        one = np.float32(1)
        mean *= self.beta1
        mean += (one - self.beta1) * update
        square *= self.beta2
        square += (one - self.beta2) * np.square(update)
        return (np.float32(self.lr) * mean / (np.sqrt(square) + self.epsilon)).astype(np.float32, copy=False)


def server_optimiser(
    kind: Literal["sgd", "nesterov", "adam"],
    lr: float = 1.0,
    momentum: float = 0.9,
    beta2: float = 0.99,
    epsilon: float = 1e-3,
) -> ServerOptimiser:
    """The optimiser of a config's section. momentum: Nesterov's, or Adam's β₁."""
    if kind == "sgd":
        return Sgd(lr)
    return Nesterov(lr, momentum) if kind == "nesterov" else Adam(lr, momentum, beta2, epsilon)
