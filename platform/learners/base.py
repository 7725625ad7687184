"""The seam between a peer and whatever updates its policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.ids import CompletionId


@dataclass(frozen=True, slots=True)
class Row:
    """One completion as the receiver tokenised it. completion: its end token included, if the writer ended
    it.
    """

    id: CompletionId
    prompt: tuple[int, ...]
    completion: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the receiver's own forward pass says about a completion's tokens.

    logprobs: [t] float32, at the sampling temperature, before top-k and top-p. ranks: [t] int32, how many
    tokens of the vocabulary have a strictly greater logit; empty unless a defence asked for them.
    """

    logprobs: NDArray[np.float32]
    ranks: NDArray[np.int32]


class ForwardPass(Protocol):
    """The pass over one part of the round, its graph kept until `Learner.backward`, or dropped with the
    object.
    """

    evidence: list[Evidence]


class Learner(Protocol):
    """Holds a policy's weights and optimiser. One round: (forward, backward)* over its parts, then one
    `step`.
    """

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Cut a round into parts that fit in memory: whole groups, of similar lengths."""
        ...

    def forward(self, rows: Sequence[Row], ranks: bool) -> ForwardPass:
        """One differentiable pass over a part; its evidence is in the order of `rows`."""
        ...

    def backward(self, forward: ForwardPass, advantages: NDArray, weights: NDArray) -> tuple[float, float]:
        """Accumulate the gradient of Σ_i weights_i · loss_i; returns the part's (policy loss, KL penalty)."""
        ...

    def step(self, divisor: float) -> float:
        """Divide the gradient, clip, update, clear; returns the gradient's norm before the clip."""
        ...

    def weights_sha256(self) -> str:
        """Hash of every weight, by name."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights and optimiser state into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Take up weights and optimiser state that `save` wrote."""
        ...
