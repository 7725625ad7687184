"""A policy's trained weights as one flat vector, in an order that every client and the server agree on."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

Vector = NDArray[np.float32]
BENEATH = ".base_layer.weight"
"""How the names of the weights beneath adapters end."""


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the trained weights, sorted by name. Tied weights stand in it once."""

    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, trainable: Mapping[str, torch.Tensor]) -> "Layout":
        return cls(tuple((name, tuple(tensor.shape)) for name, tensor in sorted(trainable.items())))

    @property
    def starts(self) -> dict[str, int]:
        """Where each of them begins in the vector."""
        ends = accumulate(prod(shape) for _, shape in self.shapes)
        return {name: end - prod(shape) for (name, shape), end in zip(self.shapes, ends, strict=True)}

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


def held_by_server(model: torch.nn.Module, adapters: str) -> dict[str, torch.nn.Parameter]:
    """The weights that the server's vector holds, by name: those that are trained, or with `adapters` "stack"
    the full ones beneath the adapters.
    """
    stacked = adapters == "stack"
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if (name.endswith(BENEATH) if stacked else parameter.requires_grad)
    }


def version_of(vector: Vector) -> str:
    """SHA-256 of a vector's bytes: the name of that state of the policy."""
    return hashlib.sha256(np.ascontiguousarray(vector).data).hexdigest()
