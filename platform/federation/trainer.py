"""Local GRPO: one copy of a policy, on which the clients of one process train in turn."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from turncoat.platform.attacks.base import Sent, Stage
from turncoat.platform.config.federated import Federated
from turncoat.platform.engines.base import Generated
from turncoat.platform.evaluation import Evaluation, evaluate
from turncoat.platform.federation.stacking import stack_of
from turncoat.platform.federation.terms import Both, PowerPropagation, Proximal
from turncoat.platform.federation.vectors import Layout, Vector, freeze_first_factors, held_by_server
from turncoat.platform.ids import seed_of
from turncoat.platform.outcome import Outcome
from turncoat.platform.policies.load import load_policy
from turncoat.platform.receive import Emphasis, Receiver
from turncoat.platform.records import Prompt
from turncoat.platform.registry import ATTACKS, ENGINES, LEARNERS, TASKS
from turncoat.platform.screen import Screen


class Trainer:
    """Engine and learner share one copy of the weights; whose they are at the moment, the caller knows."""

    def __init__(self, experiment: Federated):
        """Raises BadInput where a file of the task or the policy is missing or broken."""
        self.experiment = experiment
        self.task = TASKS.build(experiment.task)
        policy = experiment.policy
        self.model, self.tokenizer = load_policy(
            policy.name_or_path, policy.dtype, policy.lora, seed_of(experiment.seed, "adapters")
        )
        if experiment.adapters == "freeze_a":
            freeze_first_factors(self.model)
        self.engine = ENGINES.build(experiment.engine, self.model, self.tokenizer)
        self.learner = LEARNERS.build(
            experiment.learner,
            self.model,
            self.tokenizer.pad_token_id,
            experiment.grpo,
            experiment.optimiser,
            experiment.sampling.temperature,
            self.engine.model,
        )
        self.receiver = Receiver(
            self.task,
            self.tokenizer,
            self.learner,
            Screen(),
            experiment.grpo,
            experiment.sampling.max_new_tokens,
        )
        self.layout = Layout.of(self.learner.trainable)
        """Of what a client trains and sends."""
        self.held = held_by_server(self.model, experiment.adapters)
        lora = policy.lora if experiment.adapters == "stack" else None
        self.stack = stack_of(self.model, lora) if lora else None
        self.fresh = self.layout.read(self.learner.trainable) if self.stack else None
        """[n] adapters that have not been trained yet: they add nothing to the weights beneath them."""
        self.unused = deepcopy(self.learner.optimiser.state_dict())
        """The state of an optimiser that has not stepped yet."""

    def begin(self, weights: Vector, optimiser: dict[str, Any] | None, updates: int) -> None:
        """Stand at `weights` [N], with `optimiser`'s state (None: a fresh one) after so many updates.

        updates: of the whole run, which the learning rate's schedule counts.
        """
        learner = self.learner
        self._stand(weights)
        learner.optimiser.load_state_dict(deepcopy(self.unused if optimiser is None else optimiser))
        learner.updates = updates
        terms: list[Proximal | PowerPropagation] = []
        if self.experiment.proximal:
            terms.append(Proximal(self.experiment.proximal, learner.trainable))
        power = getattr(self.experiment.compression, "power", 1.0)
        if power != 1.0:
            terms.append(PowerPropagation(power))
        learner.terms = Both(*terms) if terms else None
        self.engine.refresh()

    def generate(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        """Sample as in training."""
        return self.engine.generate(texts, seeds, self.experiment.sampling)

    def step(
        self,
        write: Callable[[Stage], Sent],
        prompts: Mapping[int, Prompt],
        round: int,
        emphasis: Emphasis | None,
    ) -> tuple[Sent, Outcome]:
        """One local step on what `write` makes of its stage: (completions by id, what came of them)."""
        sent = write(Stage(self.task, self.experiment.seed, self.generate, round))
        sent = sorted(sent, key=lambda pair: pair[0].id)
        outcome = self.receiver.receive([completion for completion, _ in sent], prompts, emphasis)
        self.engine.refresh()
        return sent, outcome

    def weights(self) -> Vector:
        """[N] float32: a copy of what is trained."""
        return self.layout.read(self.learner.trainable)

    def initial(self) -> Vector:
        """[N] what the server starts from: a copy of what it holds."""
        return Layout.of(self.held).read(self.held)

    def start_of(self, weights: Vector) -> Vector:
        """Where what is trained begins, if the server stands at `weights`: there, or with fresh adapters."""
        return weights if self.fresh is None else self.fresh

    def _stand(self, weights: Vector) -> None:
        Layout.of(self.held).write(weights, self.held)
        if self.fresh is not None:
            self.layout.write(self.fresh, self.learner.trainable)

    def optimiser_state(self) -> dict[str, Any]:
        return deepcopy(self.learner.optimiser.state_dict())

    def evaluate(self, weights: Vector, completions: int) -> Evaluation:
        """Accuracy, attack success and length of the policy at `weights` on held-out prompts."""
        self._stand(weights)
        self.engine.refresh()
        return evaluate(
            self.engine,
            self.task,
            self.experiment.sampling,
            completions,
            self.experiment.seed,
            ATTACKS.build(self.experiment.attack),
        )
