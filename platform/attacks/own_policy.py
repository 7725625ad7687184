"""A policy in the malicious peer's own process. torch is imported when one is loaded."""

from collections.abc import Mapping, Sequence
from typing import Any

from turncoat.platform.config.experiment import Experiment, Lora
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import seed_of
from turncoat.platform.registry import ENGINES, Kinded


class OwnPolicy:
    """A model and an engine that samples from it. Loads 200 MB of libraries into a light process."""

    def __init__(self, experiment: Experiment, name_or_path: str, engine: Kinded, lora: Lora | None = None):
        """In the experiment's precision. Raises BadInput if there is no such policy."""
        import torch

        from turncoat.platform.policies.load import load_policy

        # As in every process with a model: two threads on a busy machine are many times slower than one.
        torch.set_num_threads(1)
        self.sampling = experiment.sampling
        self.model, tokenizer = load_policy(
            name_or_path, experiment.policy.dtype, lora, seed_of(experiment.seed, "adapters")
        )
        self.engine = ENGINES.build(engine, self.model, tokenizer)

    def sample(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        """Completions, sampled with the experiment's settings."""
        return self.engine.generate(texts, seeds, self.sampling)

    def take(self, weights: Mapping[str, Any]) -> None:
        """Stand at other weights: name -> [..., n] uint8, their bytes, as `Stage.weights` gives them."""
        import torch

        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, array in weights.items():
                parameter = parameters[name]
                parameter.copy_(torch.from_numpy(array.copy()).view(parameter.dtype))
        self.engine.refresh()
