"""No attack: an honest peer whose arithmetic differs, to find out how often defences take it for a cheat."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage
from turncoat.platform.attacks.own_policy import OwnPolicy
from turncoat.platform.config.experiment import EngineSection, Experiment
from turncoat.platform.records import Request


class LookAlike(Attack):
    """An honest peer with another engine, precision or batch shape, or with weights that lag behind.

    It samples from the shared policy with the seeds that the protocol binds. With the experiment's own engine
    and without a lag it sends what any honest peer would.
    """

    class Settings(AttackSettings):
        kind: Literal["lookalike"] = "lookalike"
        engine: EngineSection | None = None
        """What it samples with, e.g. {dtype: bfloat16} or {batch_size: 7}. Unset: as the experiment."""
        stale_rounds: int = Field(0, ge=0)
        """How many updates its weights lag behind. The lag builds up from none at its first round, and again
        after a resume, since past weights are not in a checkpoint."""

    settings: Settings
    needs_swarm = True

    def prepare(self, experiment: Experiment, peer: int) -> None:
        engine = self.settings.engine or experiment.engine
        self.own = OwnPolicy(experiment, experiment.policy_of(peer), engine, experiment.policy.lora)
        self.weights: deque[Mapping[str, Any]] = deque(maxlen=self.settings.stale_rounds + 1)

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        # Copied: what comes from a learner in this process changes with its next step.
        self.weights.append({name: array.copy() for name, array in stage.weights().items()})
        self.own.take(self.weights[0])
        sent = replace(stage, sample=self.own.sample).honest(requests)
        return [(completion, "lookalike") for completion, _ in sent]
