"""A policy's trained weights as one flat vector, in an order that every client and the server agree on."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the trained weights, sorted by name. Tied weights stand in it once."""

    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, trainable: Mapping[str, torch.Tensor]) -> "Layout":
        return cls(tuple((name, tuple(tensor.shape)) for name, tensor in sorted(trainable.items())))

    @property
    def size(self) -> int:
        """N, the number of weights."""
        return sum(prod(shape) for _, shape in self.shapes)

    def read(self, trainable: Mapping[str, torch.Tensor]) -> Vector:
        """[N] float32: a copy of the weights."""
        vector = np.empty(self.size, np.float32)
        for name, part in self._parts(vector).items():
            part[...] = trainable[name].detach().float().numpy()
        return vector

    def write(self, vector: Vector, trainable: Mapping[str, torch.Tensor]) -> None:
        """Put `vector` [N] into the weights."""
        with torch.no_grad():
            for name, part in self._parts(vector).items():
                # A copy of one tensor's part: what came from another process may not be written to.
                trainable[name].copy_(torch.tensor(part))

    def _parts(self, vector: Vector) -> dict[str, Vector]:
        parts, start = {}, 0
        for name, shape in self.shapes:
            parts[name] = vector[start : start + prod(shape)].reshape(shape)
            start += prod(shape)
        return parts


def freeze_first_factors(model: torch.nn.Module) -> None:
    """FFA-LoRA (Sun et al. 2024, arXiv 2403.12313): of every adapter B · A, train and exchange B alone."""
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            parameter.requires_grad_(False)


def version_of(vector: Vector) -> str:
    """SHA-256 of a vector's bytes: the name of that state of the policy."""
    return hashlib.sha256(np.ascontiguousarray(vector).data).hexdigest()
