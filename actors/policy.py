"""The processes that hold a policy: rollout worker, learner shard, and both in one for a laptop."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turncoat.platform.attacks.base import Stage
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId, peer_name, seed_of
from turncoat.platform.journal.atomic import write_text
from turncoat.platform.records import Belief, Completion, Contribution, Prompt, Request
from turncoat.platform.registry import ATTACKS, DEFENCES, ENGINES, LEARNERS, TASKS
from turncoat.platform.rounds import prompts_of, slots_of

REPUTATION = "reputation.json"
"""In a peer's part of a checkpoint: what its receiver remembers of the others."""


class PolicyActor:
    """What every process with a model in it has: its experiment, its task, and its weights, on one thread.

    Loading is a call of its own, `start`: Ray would bury what a constructor raises in a page of text.
    """

    role = "policy"

    def __init__(self, experiment: Mapping[str, Any], peer: int):
        self.experiment = parse(experiment)
        self.peer = peer

    def start(self) -> None:
        """Load the task and the policy. Raises BadInput where a file of theirs is missing or broken."""
        import torch

        from turncoat.platform.policies.load import load_policy

        # Two threads per process on a busy machine are many times slower than one.
        torch.set_num_threads(1)
        self.task = TASKS.build(self.experiment.task)
        policy = self.experiment.policy
        self.model, self.tokenizer = load_policy(
            self.experiment.policy_of(self.peer),
            policy.dtype,
            policy.lora,
            seed_of(self.experiment.seed, "adapters"),
        )

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        policy = self.experiment.policy_of(self.peer)
        return f"{self.experiment.name}/{peer_name(self.peer)}/{self.role} ({policy})"


class RolloutWorker(PolicyActor):
    """Samples completions: its own and its twins', and what a malicious peer of the same policy asks for."""

    role = "rollout"

    def start(self) -> None:
        super().start()
        self.engine = ENGINES.build(self.experiment.engine, self.model, self.tokenizer)

    def generate(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        """Sample as in training."""
        return self.engine.generate(texts, seeds, self.experiment.sampling)

    def slots(self, round: int) -> list[CompletionId]:
        """What this peer sets out to answer."""
        return slots_of(self.experiment, round, self.peer)

    def contribute(self, round: int, *slots: Sequence[CompletionId]) -> list[Contribution]:
        """The honest completions of several peers. Each peer is a batch of its own, so that its completions
        do not depend on who else was computed here.
        """
        stage = Stage(self.task, self.experiment.seed, self.generate)
        prompts = prompts_of(self.experiment, self.task, round)
        contributions = []
        for owed in slots:
            completions, truths = zip(
                *stage.honest([Request(id, prompts[id.prompt]) for id in owed]), strict=True
            )
            contributions.append(Contribution(round, owed[0].peer, completions, truths))
        return contributions

    def evaluate(self, completions: int) -> Any:
        """Accuracy, attack success and length on held-out prompts, sampled as in training."""
        from turncoat.platform.evaluation import evaluate

        attack = ATTACKS.build(self.experiment.attack)
        return evaluate(
            self.engine,
            self.task,
            self.experiment.sampling,
            completions,
            self.experiment.seed,
            attack,
        )

    def take(self, weights: Mapping[str, Any]) -> None:
        """Take up the learner's `weights`, after its step."""
        import torch

        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, array in weights.items():
                parameter = parameters[name]
                parameter.copy_(torch.from_numpy(array.copy()).view(parameter.dtype))
        self.engine.refresh()


class LearnerShard(PolicyActor):
    """Judges gathered rounds and updates the policy."""

    role = "learner"

    def __init__(self, experiment: Mapping[str, Any], peer: int, judges: Mapping[str, Sequence[Any]]):
        """judges: name of a defence -> the handles of its judge service's workers."""
        super().__init__(experiment, peer)
        self.judges = judges

    def start(self) -> None:
        super().start()
        self.engine = ENGINES.build(self.experiment.engine, self.model, self.tokenizer)
        self._learn()

    def _learn(self) -> None:
        from turncoat.actors.judge import JudgePool
        from turncoat.platform.defences.base import Surroundings
        from turncoat.platform.receive import Receiver
        from turncoat.platform.screen import Screen

        one = self.experiment
        self.learner = LEARNERS.build(
            one.learner,
            self.model,
            self.tokenizer.pad_token_id,
            one.grpo,
            one.optimiser,
            one.sampling.temperature,
            self.engine.model,
        )
        surroundings = Surroundings(
            one,
            self.engine.generate,
            lambda round: prompts_of(one, self.task, round),
            {
                name: JudgePool(workers, one.hardware.deadline_seconds).rule
                for name, workers in self.judges.items()
            },
        )
        defences = [DEFENCES.build(settings, surroundings) for settings in one.defences]
        self.screen = Screen(defences, one.decision, one.reputation)
        self.receiver = Receiver(
            self.task, self.tokenizer, self.learner, self.screen, one.grpo, one.sampling.max_new_tokens
        )

    def receive(
        self, round: int, completions: Sequence[Completion], choices: Mapping[int, int]
    ) -> tuple[Any, str]:
        """Learn from one gathered round: (what came of it, hash of the weights after it).

        choices: the rows that peers chose for groups of their own.
        """
        outcome = self.receiver.receive(completions, prompts_of(self.experiment, self.task, round, choices))
        self.engine.refresh()
        return outcome, self.learner.weights_sha256()

    def appraise(self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]) -> list[Belief]:
        """What this peer would make of completions now, without learning from them."""
        return self.receiver.appraise(completions, prompts)

    def weights(self) -> dict[str, Any]:
        """The trained weights: name -> [..., n] uint8, their bytes, since NumPy has no bfloat16."""
        import torch

        return {
            name: tensor.detach().view(torch.uint8).numpy() for name, tensor in self.learner.trainable.items()
        }

    def weights_sha256(self) -> str:
        return self.learner.weights_sha256()

    def save(self, folder: Path) -> str:
        """Write weights and optimiser state into `folder`; returns the weights' hash."""
        folder.mkdir(parents=True, exist_ok=True)
        self.learner.save(folder)
        if self.screen.standing:
            write_text(folder / REPUTATION, json.dumps(self.screen.standing.state()) + "\n")
        return self.learner.weights_sha256()

    def load(self, folder: Path) -> str:
        """Take up what `save` wrote; returns the weights' hash."""
        self.learner.load(folder)
        if self.screen.standing:
            self.screen.standing.load(json.loads((folder / REPUTATION).read_text()))
        self.engine.refresh()
        return self.learner.weights_sha256()


class PolicyPeer(RolloutWorker, LearnerShard):
    """Rollout worker and learner shard in one process, sharing one copy of the weights."""

    role = "peer"

    def start(self) -> None:
        # One engine for both roles: what is sampled from is what the learner compares with.
        PolicyActor.start(self)
        self.engine = ENGINES.build(self.experiment.engine, self.model, self.tokenizer)
        self._learn()
