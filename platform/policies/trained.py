"""The policy that a run has trained, from its newest checkpoint."""

from pathlib import Path
from typing import Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.loading import parse
from turncoat.platform.ids import client_name, peer_name, seed_of
from turncoat.platform.journal.journal import Journal
from turncoat.platform.policies.load import load_policy


def load_trained(run: Path, peer: int = 0) -> tuple[Any, Any, Experiment | Federated]:
    """(model, tokenizer, experiment) of a run's folder: honest peer `peer` as its newest checkpoint left it.

    Of a federation it is the server's policy, and where nothing is exchanged that of client `peer`. Raises
    BadInput if `run` is no run, has no checkpoint yet, or none of that peer.
    """
    from safetensors.torch import load_file

    journal = Journal.open(run)
    experiment = parse(journal.experiment())
    found = journal.latest_checkpoint()
    if found is None:
        raise BadInput(f"run is {str(run)!r}: it has no checkpoint yet, allowed is a run that saved one")
    if isinstance(experiment, Federated):
        return *load_federated(experiment, found.folder, peer), experiment
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


def load_federated(experiment: Federated, checkpoint: Path, peer: int) -> tuple[Any, Any]:
    """(model, tokenizer) with the server's weights, or those of client `peer` where nothing is exchanged.

    Raises BadInput for a peer that has none of its own, and for a policy that is another by now.
    """
    from safetensors.numpy import load_file

    from turncoat.platform.federation.vectors import Layout, freeze_first_factors, held_by_server

    together = experiment.kind == "federated"
    last = 0 if together else experiment.learners - 1
    if peer > last:
        owner = "the server's policy" if together else f"those of {last + 1} clients"
        raise BadInput(f"peer is {peer}: {checkpoint.name} holds {owner}, allowed is at most {last}")
    weights = checkpoint / ("server.safetensors" if together else f"{client_name(peer)}/weights.safetensors")
    if not weights.is_file():
        raise BadInput(
            f"peer is {peer}: client {peer} has not trained yet, allowed is one with a round behind it"
        )
    one = experiment.policy
    model, tokenizer = load_policy(
        one.name_or_path, one.dtype, one.lora, seed_of(experiment.seed, "adapters")
    )
    if experiment.adapters == "freeze_a":
        freeze_first_factors(model)
    held = held_by_server(model, experiment.adapters)
    layout, vector = Layout.of(held), load_file(weights)["weights"]
    if len(vector) != layout.size:
        raise BadInput(f"{weights} holds other weights than the policy that its run names has now")
    layout.write(vector, held)
    return model, tokenizer


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
