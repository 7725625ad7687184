"""The peers that hold no model: twins, whose arithmetic another peer computes, and adversaries. They import no torch."""

from collections.abc import Mapping, Sequence
from typing import Any

import ray

from turncoat.platform.attacks.base import Stage
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import peer_name
from turncoat.platform.records import Contribution, Request
from turncoat.platform.registry import ATTACKS, TASKS
from turncoat.platform.rounds import requests_of


class LightPeer:
    """A peer that chooses its own prompts."""

    role = "peer"

    def __init__(self, experiment: Mapping[str, Any], peer: int):
        self.experiment = parse(experiment)
        self.peer = peer
        self.task = TASKS.build(self.experiment.task)

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        return f"{self.experiment.name}/{peer_name(self.peer)}/{self.role}"

    def requests(self, round: int) -> list[Request]:
        """What this peer sets out to answer."""
        return requests_of(self.experiment, self.task, round, self.peer)


class Twin(LightPeer):
    """An honest peer that holds the same weights as its lead and decides alike: the lead computes for both."""

    role = "twin"
    weights_sha256: str | None = None

    def follow(self, weights_sha256: str) -> str:
        """Stand at the lead's weights from now on; returns their hash."""
        self.weights_sha256 = weights_sha256
        return weights_sha256


class Adversary(LightPeer):
    """A malicious peer. It samples, where its attack needs samples, from the policy that it shares with honest peers."""

    role = "adversary"

    def __init__(self, experiment: Mapping[str, Any], peer: int, policy: Any):
        """policy: the handle of a rollout worker with the weights that this peer would hold."""
        super().__init__(experiment, peer)
        self.policy = policy
        self.attack = ATTACKS.build(self.experiment.attack)

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.attack.settings.kind})"

    def contribute(self, round: int) -> Contribution:
        """The round's completions, poisoned as the attack has it."""
        stage = Stage(self.task, self.experiment.seed, self._sample)
        completions, truths = zip(*self.attack.poison(self.requests(round), stage), strict=True)
        return Contribution(round, self.peer, completions, truths)

    def _sample(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return ray.get(
            self.policy.generate.remote(texts, seeds), timeout=self.experiment.hardware.deadline_seconds
        )
