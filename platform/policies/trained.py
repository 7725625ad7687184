"""The policy that a run has trained, from its newest checkpoint."""

from pathlib import Path
from typing import Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.ids import peer_name, seed_of
from turncoat.platform.journal.journal import Journal
from turncoat.platform.policies.load import load_policy


def load_trained(run: Path, peer: int = 0) -> tuple[Any, Any, Experiment]:
    """(model, tokenizer, experiment) of a run's folder: honest peer `peer` as its newest checkpoint left it.

    Raises BadInput if `run` is no run, has no checkpoint yet, or none of that peer.
    """
    from safetensors.torch import load_file

    journal = Journal.open(run)
    experiment = parse(journal.experiment())
    found = journal.latest_checkpoint()
    if found is None:
        raise BadInput(f"run is {str(run)!r}: it has no checkpoint yet, allowed is a run that saved one")
    weights = found.folder / peer_name(peer) / "model.safetensors"
    if not weights.is_file():
        saved = ", ".join(sorted(path.parent.name for path in found.folder.glob("*/model.safetensors")))
        raise BadInput(
            f"peer is {peer}: {found.folder.name} holds no weights of it, allowed are those of {saved}"
        )
    policy = experiment.policy
    model, tokenizer = load_policy(
        experiment.policy_of(peer), policy.dtype, policy.lora, seed_of(experiment.seed, "adapters")
    )
    take_up(model, load_file(weights), str(weights))
    return model, tokenizer, experiment


def take_up(model: Any, stored: dict[str, Any], origin: str) -> None:
    """Copy trained weights into a model's trainable parameters. Raises BadInput where they are others."""
    import torch

    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if {name: t.shape for name, t in stored.items()} != {name: p.shape for name, p in trainable.items()}:
        raise BadInput(f"{origin} holds other weights than the policy that its run names has now")
    with torch.no_grad():
        for name, parameter in trainable.items():
            parameter.copy_(stored[name])


def merge_adapters(model: Any) -> None:
    """Add low-rank adapters to the weights that they adapt, and leave the plain model, in place."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    adapted = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, BaseTunerLayer)]
    for name, layer in adapted:
        layer.merge()
        model.set_submodule(name, layer.get_base_layer())
