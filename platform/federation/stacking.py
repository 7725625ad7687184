"""FLoRA: adapters are stacked, so that their weighted sum is exact (Wang et al. 2024, arXiv 2409.05976).

The mean of products B_k A_k is not the product of the means, which is what averaging adapters takes (FedIT).
The server keeps the full weights of the adapted layers and adds Σ w_k s B_k A_k to them: the product of all B
side by side with all A on top of each other. Clients begin each round with fresh adapters on the new weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Lora
from turncoat.platform.federation.aggregate import Aggregated
from turncoat.platform.federation.server_optimiser import ServerOptimiser
from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.federation.vectors import BENEATH, Layout, Vector
from turncoat.platform.federation.weights.base import Aggregator


@dataclass(frozen=True)
class Block:
    """One adapted layer: where its three matrices begin in their vectors, and their shapes.

    a: [r, in] and b: [out, r] lie in the adapters' vector, target: [out, in] in the server's.
    """

    a: int
    b: int
    target: int
    rank: int
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Stack:
    """All adapted layers of a policy. size: entries of the adapters' vector. scale: s = α / r."""

    blocks: tuple[Block, ...]
    size: int
    scale: float

    def add(self, weight: float, adapters: Vector, total: Vector) -> None:
        """total [N] += weight · s · B A, layer by layer. adapters: [size]."""
        factor = np.float32(weight * self.scale)
        for block in self.blocks:
            a = _matrix(adapters, block.a, (block.rank, block.inputs))
            b = _matrix(adapters, block.b, (block.outputs, block.rank))
            _matrix(total, block.target, (block.outputs, block.inputs))[:] += factor * (b @ a)


def stack_of(model: Any, lora: Lora) -> Stack:
    """Where the adapters of a model lie in the vector that is trained, and in the server's.

    Raises BadInput where an adapted layer has no weights of its own to add to, as an output layer that is
    tied to the embedding, or keeps them another way round than a linear layer.
    """
    parameters = dict(model.named_parameters())
    trained = {name: one for name, one in parameters.items() if one.requires_grad}
    targets = {name: one for name, one in parameters.items() if name.endswith(BENEATH)}
    adapted = {name.partition(".lora_")[0] for name in trained}
    beneath = {name.removesuffix(BENEATH) for name in targets}
    layers = {name: model.get_submodule(name).base_layer for name in adapted & beneath}
    linear = {name for name, layer in layers.items() if isinstance(layer, torch.nn.Linear)}
    if unfit := sorted((adapted | beneath) - linear):
        raise BadInput(
            f"policy.lora.target_modules: {unfit[0]!r} cannot be stacked, expected with adapters 'stack' are "
            "linear layers that share no weights with others"
        )
    adapters, places = Layout.of(trained), Layout.of(targets)
    blocks = []
    for name, target in places.starts.items():
        a = name.removesuffix(BENEATH) + ".lora_A.default.weight"
        b = name.removesuffix(BENEATH) + ".lora_B.default.weight"
        (rank, inputs), outputs = parameters[a].shape, len(parameters[b])
        blocks.append(Block(adapters.starts[a], adapters.starts[b], target, rank, inputs, outputs))
    return Stack(tuple(blocks), adapters.size, lora.alpha / lora.rank)


def aggregate_stacked(
    weights: Vector,
    signals: Sequence[Signal],
    fetch: Callable[[int], Sparse],
    aggregator: Aggregator,
    optimiser: ServerOptimiser,
    stack: Stack,
) -> Aggregated:
    """Move `weights` [N] in place by one round; see `aggregate`. fetch: client -> all of its new adapters."""
    given = {
        one.client: float(weight) for one, weight in zip(signals, aggregator.weigh(signals), strict=True)
    }
    if not any(given.values()):
        return Aggregated(False, given, notes=("no client has any weight: the policy stays as it is",))
    total = np.zeros(len(weights), np.float32)
    norms: dict[int, float] = {}
    for client, weight in given.items():
        if weight:
            adapters = fetch(client).dense()
            norms[client] = float(np.linalg.norm(adapters.astype(np.float64)))
            stack.add(weight, adapters, total)
    optimiser.step(weights, total)
    step = float(np.linalg.norm(total.astype(np.float64)))
    return Aggregated(True, given, given, norms, step)


def _matrix(vector: Vector, start: int, shape: tuple[int, int]) -> Vector:
    return vector[start : start + prod(shape)].reshape(shape)
