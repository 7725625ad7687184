"""The embedded learner: plain PyTorch in one process, one update per round."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from turncoat.platform.config.experiment import Grpo, Optimiser
from turncoat.platform.grpo.importance import truncated_importance
from turncoat.platform.grpo.kl import kl_loss
from turncoat.platform.grpo.losses import policy_loss
from turncoat.platform.learners.base import Evidence, Row
from turncoat.platform.learners.forward import completion_logprobs
from turncoat.platform.learners.packing import chunks_of, parts_of
from turncoat.platform.learners.settings import TorchSettings


@dataclass
class Chunk:
    """One forward pass: which rows of the part it holds, and its tensors."""

    indices: list[int]
    rows: list[Row]
    logprobs: torch.Tensor
    mask: torch.Tensor


class UpdateTerms(Protocol):
    """What a federated client adds to its updates: a pull towards the server's weights, or other
    coordinates.
    """

    def before_step(self, trainable: Mapping[str, torch.nn.Parameter]) -> None:
        """Change the gradients, of the mean loss and not clipped yet, or the parameters themselves."""
        ...

    def after_step(self, trainable: Mapping[str, torch.nn.Parameter]) -> None:
        """Bring the parameters back to what the policy computes with."""
        ...


@dataclass
class TorchForward:
    """A part's passes, with their graphs, and its evidence in the order of its rows."""

    chunks: list[Chunk]
    evidence: list[Evidence]


class TorchLearner:
    """One process, all weights in it; micro-batches of whole groups, packed by length."""

    Settings = TorchSettings

    def __init__(
        self,
        settings: TorchSettings,
        model: Any,
        pad: int,
        grpo: Grpo,
        optimiser: Optimiser,
        temperature: float,
        engine_model: Any = None,
    ):
        """engine_model: what the engine samples from; looked at only where `grpo.importance_cap` is set."""
        self.settings, self.model, self.pad, self.grpo = settings, model, pad, grpo
        self.temperature, self.recipe, self.engine_model = temperature, optimiser, engine_model
        self.trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimiser = make_optimiser(optimiser, list(self.trainable.values()))
        self.reference = copy.deepcopy(model).requires_grad_(False) if grpo.kl_beta else None
        self.updates = 0
        self.terms: UpdateTerms | None = None

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        return parts_of(rows, self.settings.tokens_per_batch)

    def forward(self, rows: Sequence[Row], ranks: bool) -> TorchForward:
        chunks: list[Chunk] = []
        evidence: dict[int, Evidence] = {}
        for indices in chunks_of(rows, self.settings.tokens_per_batch):
            chosen = [rows[i] for i in indices]
            logprobs, mask, above = completion_logprobs(self.model, chosen, self.pad, self.temperature, ranks)
            chunks.append(Chunk(indices, chosen, logprobs, mask))
            values, places = logprobs.detach().numpy(), above.numpy()
            for at, (i, row) in enumerate(zip(indices, chosen, strict=True)):
                length = len(row.completion)
                evidence[i] = Evidence(values[at, :length], places[at, :length])
        return TorchForward(chunks, [evidence[i] for i in range(len(rows))])

    def backward(self, forward: TorchForward, advantages: NDArray, weights: NDArray) -> tuple[float, float]:
        policy, penalty = 0.0, 0.0
        for chunk in forward.chunks:
            weight = torch.from_numpy(weights[chunk.indices]).float()
            loss = policy_loss(
                chunk.logprobs,
                chunk.mask,
                torch.from_numpy(advantages[chunk.indices]).float(),
                weight,
                self.grpo.clip_low,
                self.grpo.clip_high,
                importance=self._importance(chunk),
            )
            policy += loss.item()
            if self.reference is not None:
                kl = kl_loss(
                    chunk.logprobs,
                    self._logprobs(self.reference, chunk),
                    chunk.mask,
                    weight,
                    self.grpo.kl_beta,
                )
                penalty += kl.item()
                loss = loss + kl
            loss.backward()
        return policy, penalty

    def step(self, divisor: float) -> float:
        if self.terms is not None:
            for parameter in self.trainable.values():
                if parameter.grad is not None:
                    parameter.grad /= divisor
            self.terms.before_step(self.trainable)
            divisor = 1.0
        gradients = [p.grad for p in self.trainable.values() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients, error_if_nonfinite=True).item() / divisor
        # Division and clip in one pass over the gradient.
        limit = self.recipe.clip_norm
        shrink = min(1.0, limit / (norm + 1e-6)) if limit else 1.0
        for gradient in gradients:
            gradient *= shrink / divisor
        self.updates += 1
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.lr * schedule(self.recipe, self.updates)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        if self.terms is not None:
            self.terms.after_step(self.trainable)
        return norm

    def weights_sha256(self) -> str:
        digest = hashlib.sha256()
        for name, tensor in sorted(self.trainable.items()):
            digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}:".encode())
            digest.update(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        save_file(
            {name: p.detach().contiguous() for name, p in self.trainable.items()},
            folder / "model.safetensors",
        )
        torch.save(
            {"updates": self.updates, "optimiser": self.optimiser.state_dict()}, folder / "optimiser.pt"
        )

    def load(self, folder: Path) -> None:
        stored = load_file(folder / "model.safetensors")
        if stored.keys() != self.trainable.keys():
            raise ValueError(f"{folder.name}/model.safetensors holds other weights than this policy's")
        with torch.no_grad():
            for name, parameter in self.trainable.items():
                parameter.copy_(stored[name])
        state = torch.load(folder / "optimiser.pt", weights_only=True)
        self.optimiser.load_state_dict(state["optimiser"])
        self.updates = state["updates"]

    def _importance(self, chunk: Chunk) -> torch.Tensor | None:
        if self.grpo.importance_cap is None:
            return None
        engine = self._logprobs(self.engine_model, chunk)
        return truncated_importance(chunk.logprobs, engine, self.grpo.importance_cap)

    @torch.no_grad()
    def _logprobs(self, model: Any, chunk: Chunk) -> torch.Tensor:
        return completion_logprobs(model, chunk.rows, self.pad, self.temperature, ranks=False)[0]


def schedule(recipe: Optimiser, update: int) -> float:
    """The share of the learning rate at update 1, 2, …: a straight line up, and down again if the recipe says
    so.
    """
    up = min(1.0, update / (recipe.warmup_rounds + 1))
    return up if recipe.decay_rounds is None else up * max(0.0, 1 - (update - 1) / recipe.decay_rounds)


def make_optimiser(recipe: Optimiser, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """The optimiser that the recipe names; weight decay is decoupled (AdamW) for adam."""
    if recipe.kind == "sgd":
        return torch.optim.SGD(
            parameters, recipe.lr, momentum=recipe.beta1, weight_decay=recipe.weight_decay, fused=True
        )
    return torch.optim.AdamW(
        parameters,
        recipe.lr,
        betas=(recipe.beta1, recipe.beta2),
        weight_decay=recipe.weight_decay,
        fused=True,
    )
