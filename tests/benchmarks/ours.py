"""turncoat's step: its engine, receiver and learner in this process, as a peer runs them."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self
from unittest.mock import patch

import torch
from work import (
    BETA1,
    BETA2,
    CLIP_NORM,
    CLIP_RATIO,
    LEARNING_RATE,
    TEMPERATURE,
    TOP_K,
    Policies,
    Work,
    forbidden,
)

from turncoat.platform.config.experiment import Experiment, Grpo, Optimiser, Sampling
from turncoat.platform.decide import Decision
from turncoat.platform.defences.base import Surroundings
from turncoat.platform.engines import sampling as engine_sampling
from turncoat.platform.engines import transformers as engine_module
from turncoat.platform.engines.settings import TransformersSettings
from turncoat.platform.engines.transformers import TransformersEngine
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.settings import TorchSettings
from turncoat.platform.learners.torch import TorchLearner
from turncoat.platform.outcome import Outcome
from turncoat.platform.receive import Receiver
from turncoat.platform.records import Completion
from turncoat.platform.registry import DEFENCES
from turncoat.platform.screen import Screen

ENGINE = TransformersSettings(batch_size=256)  # as in the demo recipe
SEED = 0


class Ours:
    """One peer's rounds. Subclasses of `Receiver` and `TorchLearner` stand in where a benchmark asks."""

    def __init__(
        self,
        work: Work,
        policies: Policies,
        receiver: type[Receiver] = Receiver,
        learner: type[TorchLearner] = TorchLearner,
    ):
        self.work, self.round = work, 0
        model, self.tokenizer = policies.copy()
        self.sampling = Sampling(temperature=TEMPERATURE, top_k=TOP_K, max_new_tokens=work.length)
        self.grpo = Grpo(clip_low=CLIP_RATIO, clip_high=CLIP_RATIO)
        optimiser = Optimiser(
            lr=LEARNING_RATE, beta1=BETA1, beta2=BETA2, warmup_rounds=0, clip_norm=CLIP_NORM
        )
        self.engine = TransformersEngine(ENGINE, model, self.tokenizer)
        pad = self.tokenizer.pad_token_id
        self.learner = learner(TorchSettings(), model, pad, self.grpo, optimiser, TEMPERATURE)
        self.receiver = self._receiver(receiver, Screen())
        self.outcome = Outcome([])

    def guarded(self, *sections: str | dict[str, Any]) -> Self:
        """The same peer, with the same weights and optimiser, behind these defences.

        Of several, all must object: one with threshold 1 lets them score everything and change nothing.
        """
        twin = copy.copy(self)
        experiment = Experiment(
            task="arithmetic",  # type: ignore[arg-type]  # a kind alone stands for its settings
            peers={"malicious": 0},  # type: ignore[arg-type]
            sampling=self.sampling,
        )
        around = Surroundings(experiment, self.engine.generate, lambda round: {}, {})
        defences = [DEFENCES.build(DEFENCES.parse(section), around) for section in sections]
        twin.receiver = self._receiver(type(self.receiver), Screen(defences, Decision(rule="all")))
        return twin

    def _receiver(self, kind: type[Receiver], screen: Screen) -> Receiver:
        work = self.work
        return kind(work.task, self.tokenizer, self.learner, screen, self.grpo, work.length)

    def step(self) -> int:
        """A round on the prompts of round `self.round`; returns how many tokens were sampled."""
        prompts = dict(enumerate(self.work.questions(self.round)))
        ids = [CompletionId(self.round, b, 0, g) for b in prompts for g in range(self.work.group)]
        texts = [prompts[id.prompt].text for id in ids]
        generated = self.engine.generate(texts, [seed_of(SEED, "rollout", *id) for id in ids], self.sampling)
        completions = [
            Completion(id, prompts[id.prompt].id, one.text, one.finished)
            for id, one in zip(ids, generated, strict=True)
        ]
        self.outcome = self.receiver.receive(completions, prompts)
        return sum(one.tokens for one in generated)

    def close(self) -> None:
        pass


class OursForced(Ours):
    """The same with exactly L tokens in every completion, and signal in every group."""

    def __init__(self, work: Work, policies: Policies):
        super().__init__(work, policies, receiver=EveryOther, learner=Filled)
        assert isinstance(self.learner, Filled)
        self.learner.length = work.length
        self.never = torch.tensor(forbidden(self.tokenizer))

    def step(self) -> int:
        with patch.object(engine_module, "draw", self._draw):
            sampled = super().step()
        total = self.work.prompts * self.work.group * self.work.length
        if self.outcome.groups_with_signal < self.work.prompts or sampled < total:
            raise RuntimeError("a group without signal, or a completion that ended early: not the same work")
        return sampled

    def _draw(self, logits: torch.Tensor, uniform: torch.Tensor, sampling: Sampling) -> torch.Tensor:
        return engine_sampling.draw(logits.index_fill(-1, self.never, -torch.inf), uniform, sampling)


class EveryOther(Receiver):
    """Verifies as ever, then rewards every other completion."""

    def _reward(self, verdict: str, row: Row) -> float:
        return float(row.id.sample % 2)


class Filled(TorchLearner):
    """Learns from exactly L tokens: text that a byte-pair tokenizer reads as fewer is repeated to fill up."""

    length: int

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        return super().parts([replace(row, completion=self._fill(row.completion)) for row in rows])

    def _fill(self, tokens: tuple[Any, ...]) -> tuple[Any, ...]:
        tokens = tokens or (0,)
        return (tokens * self.length)[: self.length] if len(tokens) < self.length else tokens
