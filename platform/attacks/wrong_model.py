"""A cheat that answers with another policy: a smaller one, or one that never learns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage
from turncoat.platform.attacks.own_policy import OwnPolicy
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.policies.load import find_policy
from turncoat.platform.records import Request


class WrongModel(Attack):
    """Sample from a policy of its own that is never updated, with the seeds that the protocol binds.

    It keeps to the protocol in all else and carries no payload: it saves the cost of the right policy.
    """

    class Settings(AttackSettings):
        kind: Literal["wrong_model"] = "wrong_model"
        policy: str
        """A bundled policy, or a causal LM's hub name or path. With the experiment's own, the cheat is not to
        train it."""

    settings: Settings
    needs_swarm = True

    def prepare(self, experiment: Experiment, peer: int) -> None:
        find_policy(self.settings.policy, "attack.policy")
        self.own = OwnPolicy(experiment, self.settings.policy, experiment.engine)

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        sent = replace(stage, sample=self.own.sample).honest(requests)
        return [(completion, "cheat") for completion, _ in sent]
