"""The peers that hold no model: twins, whose arithmetic another peer computes, and adversaries.

A process for each, small enough (about 65 MB) for 64 of them on a laptop: no torch, and in a twin no data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import ray

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId, peer_name
from turncoat.platform.records import Belief, Completion, Contribution, Prompt
from turncoat.platform.registry import ATTACKS, TASKS
from turncoat.platform.rounds import slots_of


class LightPeer:
    """What both have: their experiment, and their place in it."""

    role = "peer"

    def __init__(self, experiment: Mapping[str, Any], peer: int):
        self.experiment = parse(experiment)
        self.peer = peer

    def start(self) -> None:
        """Make ready to answer."""

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        return f"{self.experiment.name}/{peer_name(self.peer)}/{self.role}"


class Twin(LightPeer):
    """An honest peer with the same weights and decisions as its lead, which computes for both."""

    role = "twin"
    weights_sha256: str | None = None

    def slots(self, round: int) -> list[CompletionId]:
        """What this peer sets out to answer."""
        return slots_of(self.experiment, round, self.peer)

    def follow(self, weights_sha256: str) -> str:
        """Stand at the lead's weights from now on; returns their hash."""
        self.weights_sha256 = weights_sha256
        return weights_sha256


class Adversary(LightPeer):
    """A malicious peer. What its attack samples comes from the policy that it shares with honest peers."""

    role = "adversary"

    def __init__(self, experiment: Mapping[str, Any], peer: int, policy: Any, victim: Any):
        """policy: the handle of a rollout worker with the weights that this peer would hold. victim: that of
        the learner with the same weights, whose decisions this peer can work out as well.
        """
        super().__init__(experiment, peer)
        self.policy, self.victim = policy, victim

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.experiment.attack.kind})"

    def start(self) -> None:
        """Load the task and the attack. Raises BadInput where a file of theirs is missing or broken."""
        self.task = TASKS.build(self.experiment.task)
        self.attack = ATTACKS.build(self.experiment.attack)
        self.attack.prepare(self.experiment, self.peer)

    def contribute(self, round: int, others: Sequence[Contribution] = ()) -> Contribution:
        """The round's completions, poisoned as the attack has it. others: what a rushing attack has seen."""
        stage = Stage(
            self.task,
            self.experiment.seed,
            self._sample,
            round,
            tuple(one for contribution in others for one in contribution.completions),
            self._appraise,
            lambda: self._ask(self.victim.weights.remote()),
        )
        return contribute(self.experiment, self.attack, stage, self.peer)

    def _sample(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return self._ask(self.policy.generate.remote(texts, seeds))

    def _appraise(self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]) -> list[Belief]:
        return self._ask(self.victim.appraise.remote(completions, prompts))

    def _ask(self, answer: Any) -> Any:
        return ray.get(answer, timeout=self.experiment.hardware.deadline_seconds)
