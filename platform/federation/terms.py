"""What a client adds to its local updates: FedProx's pull, and SparsyFed's other coordinates."""

from collections.abc import Mapping

import torch
from torch.nn import Parameter


class Proximal:
    """FedProx (Li et al. 2020, arXiv 1812.06127): the loss gains μ/2 · ‖θ − θ_t‖², θ_t the round's start."""

    def __init__(self, strength: float, trainable: Mapping[str, Parameter]):
        """trainable: at the weights of the round's start."""
        self.strength = strength
        self.anchor = {name: parameter.detach().clone() for name, parameter in trainable.items()}

    def before_step(self, trainable: Mapping[str, Parameter]) -> None:
        for name, parameter in trainable.items():
            pull = self.strength * (parameter.detach() - self.anchor[name])
            parameter.grad = pull if parameter.grad is None else parameter.grad + pull

    def after_step(self, trainable: Mapping[str, Parameter]) -> None:
        """Nothing to undo."""


class PowerPropagation:
    """SparsyFed (Guastella et al. 2025, arXiv 2504.05153): train v where w = v · |v|^(p-1).

    The gradient of v is that of w times p · |v|^(p-1), so that small weights move less and updates become
    sparse. Between steps the parameters hold w.
    """

    def __init__(self, power: float):
        self.power = power

    def before_step(self, trainable: Mapping[str, Parameter]) -> None:
        with torch.no_grad():
            for parameter in trainable.values():
                parameter.copy_(roots(parameter, self.power))
                if parameter.grad is not None:
                    parameter.grad *= self.power * parameter.abs() ** (self.power - 1)

    def after_step(self, trainable: Mapping[str, Parameter]) -> None:
        with torch.no_grad():
            for parameter in trainable.values():
                parameter.copy_(powers(parameter, self.power))


def powers(v: torch.Tensor, power: float) -> torch.Tensor:
    """w = v · |v|^(p-1), element by element."""
    return v * v.abs() ** (power - 1)


def roots(w: torch.Tensor, power: float) -> torch.Tensor:
    """v with w = v · |v|^(p-1): sign(w) · |w|^(1/p)."""
    return w.sign() * w.abs() ** (1 / power)


class Both:
    """A pull in the coordinates of w, then the step in those of v."""

    def __init__(self, *terms: Proximal | PowerPropagation):
        self.terms = terms

    def before_step(self, trainable: Mapping[str, Parameter]) -> None:
        for term in self.terms:
            term.before_step(trainable)

    def after_step(self, trainable: Mapping[str, Parameter]) -> None:
        for term in reversed(self.terms):
            term.after_step(trainable)
