"""What an honest peer does with a gathered round: verify, score, decide, learn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from turncoat.platform.config.experiment import Grpo
from turncoat.platform.grpo.advantages import advantages
from turncoat.platform.grpo.losses import completion_weights, part_size
from turncoat.platform.grpo.shaping import overlong_punishment
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Learner, Row
from turncoat.platform.outcome import Outcome
from turncoat.platform.policies.tokens import encode_foreign
from turncoat.platform.records import Belief, Completion, Prompt
from turncoat.platform.screen import Screen, Screening
from turncoat.platform.tasks.base import Task

Emphasis = Callable[[Mapping[int, Sequence[float]]], Mapping[int, float]]
"""Rewards of each group by its index -> the factor of that group's advantages."""


class Receiver:
    """A peer's own judgement: nothing that a sender claims about reward, length or probability enters it."""

    def __init__(
        self,
        task: Task,
        tokenizer: Any,
        learner: Learner,
        screen: Screen,
        grpo: Grpo,
        max_new_tokens: int,
    ):
        self.task, self.tokenizer, self.learner, self.grpo = task, tokenizer, learner, grpo
        self.screen = screen
        self.max_new_tokens = max_new_tokens

    def receive(
        self,
        completions: Sequence[Completion],
        prompts: Mapping[int, Prompt],
        emphasis: Emphasis | None = None,
    ) -> Outcome:
        """Judge a round, sorted by id, and take one optimiser step. prompts: the round's, by group index.

        emphasis: multiplies the advantages of each group (of what was not dropped, by rewards as verified).
        """
        outcome = Outcome([])
        rows, verdicts, rewards = self._verify(completions, prompts, outcome)
        found = self.screen.open(completions, prompts, rows, verdicts, rewards)
        with outcome.timed("score"):
            found.ask_before_passes()
        rewards, dropped = found.rewards, found.dropped
        factors = emphasis(by_group(rewards, dropped)) if emphasis else {}

        gains = dict.fromkeys((row.id for row in rows), 0.0)
        useful, idle = self._split(rows, rewards, dropped)
        parts, size = self.learner.parts(useful), 0.0
        if self.screen.needs_tokens:
            # In parts of their own, they need one pass for the evidence, and none backwards.
            parts += self.learner.parts(idle)
        else:
            # Nothing to learn from them, and nobody asks for their log-probabilities: no pass at all.
            size = self._size(idle, dropped)
        for part in parts:
            # Without the defences, a part that teaches nothing would have cost nothing.
            teaches = (
                self.grpo.kl_beta > 0
                # A defence within the passes may yet give a group of equal rewards an unequal one.
                or self.screen.may_zero_within
                or self._advantages(part, rewards, dropped)[2] > 0
            )
            with outcome.timed("learn" if teaches else "score"), torch.set_grad_enabled(teaches):
                forward = self.learner.forward(part, ranks=self.screen.needs_tokens)
            with outcome.timed("score"):
                found.ask_within_pass([row.id for row in part], forward.evidence)
            with outcome.timed("learn"):
                gain, weight, live = self._advantages(part, rewards, dropped)
                if factors:
                    gain *= [factors[row.id.prompt] for row in part]
                gains.update(zip((row.id for row in part), gain.tolist(), strict=True))
                outcome.groups_with_signal += live
                share = self._size(part, dropped)
                size += share
                if live or (self.grpo.kl_beta and share):
                    policy, kl = self.learner.backward(forward, gain, weight * share)
                    outcome.loss += policy
                    outcome.kl += kl
        with outcome.timed("learn"):
            if outcome.groups_with_signal or (self.grpo.kl_beta and size):
                outcome.grad_norm = self.learner.step(size)
        outcome.loss /= size or 1.0
        outcome.kl /= size or 1.0
        outcome.beliefs = self._beliefs(rows, verdicts, gains, found)
        outcome.costs, outcome.counts = found.costs, found.close()
        return outcome

    def appraise(self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]) -> list[Belief]:
        """What this peer would make of completions, without learning from them or remembering them.

        An adversary that holds the same weights and knows the config can work this out by itself.
        """
        outcome = Outcome([])
        rows, verdicts, rewards = self._verify(completions, prompts, outcome)
        found = self.screen.open(completions, prompts, rows, verdicts, rewards)
        found.ask_before_passes()
        if self.screen.needs_tokens:
            for part in self.learner.parts(rows):
                with torch.no_grad():
                    forward = self.learner.forward(part, ranks=True)
                found.ask_within_pass([row.id for row in part], forward.evidence)
        beliefs = self._beliefs(rows, verdicts, {row.id: 0.0 for row in rows}, found)
        found.close(remember=False)
        return beliefs

    def _verify(
        self, completions: Sequence[Completion], prompts: Mapping[int, Prompt], outcome: Outcome
    ) -> tuple[list[Row], dict[CompletionId, str], dict[CompletionId, float]]:
        """(rows, verdicts, rewards)"""
        with outcome.timed("verify"):
            rows, overlong = self._tokenise(completions, prompts)
            whole = [one for one in completions if one.id not in overlong]
            found = self.task.verify_all([(prompts[one.id.prompt], one.text) for one in whole])
            # What stands beyond the limit is not learnt from, so it earns nothing either.
            verdicts: dict[CompletionId, str] = dict.fromkeys(overlong, "malformed")
            verdicts |= {one.id: verdict for one, verdict in zip(whole, found, strict=True)}
            return rows, verdicts, {row.id: self._reward(verdicts[row.id], row) for row in rows}

    def _tokenise(
        self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]
    ) -> tuple[list[Row], set[CompletionId]]:
        """(rows cut to `max_new_tokens`, ids of the completions whose text is longer)."""
        asked = {
            index: tuple(self.tokenizer(prompt.text, add_special_tokens=False).input_ids)
            for index, prompt in prompts.items()
        }
        encoded: dict[str, list[int]] = {}
        rows = []
        for one in completions:
            if one.text not in encoded:
                encoded[one.text] = encode_foreign(self.tokenizer, one.text, self.max_new_tokens)
            tokens = encoded[one.text]
            ended = [self.tokenizer.eos_token_id] if one.finished else []
            rows.append(Row(one.id, asked[one.id.prompt], tuple((tokens + ended)[: self.max_new_tokens])))
        return rows, {one.id for one in completions if len(encoded[one.text]) > self.max_new_tokens}

    def _reward(self, verdict: str, row: Row) -> float:
        shaping = overlong_punishment(len(row.completion), self.max_new_tokens, self.grpo.overlong_buffer)
        return float(verdict == "right") + shaping

    def _beliefs(
        self,
        rows: Sequence[Row],
        verdicts: Mapping[CompletionId, str],
        gains: Mapping[CompletionId, float],
        found: Screening,
    ) -> list[Belief]:
        return [
            Belief(
                id=row.id,
                reward=found.rewards[row.id],
                verdict=verdicts[row.id],
                tokens=len(row.completion),
                advantage=gains[row.id],
                accepted=row.id not in found.rejected,
                scores=found.scores[row.id],
                rejected_by=found.objectors(row.id),
                notes=found.notes[row.id],
            )
            for row in rows
        ]

    def _split(self, rows: Sequence[Row], rewards: Mapping, dropped: set) -> tuple[list[Row], list[Row]]:
        """(rows to learn from, rows of whole groups that teach nothing)."""
        if self.grpo.kl_beta:
            return list(rows), []
        if self.screen.may_zero_within:
            return list(rows), []
        groups: dict[int, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.id.prompt, []).append(row)
        live = {index for index, group in groups.items() if self._advantages(group, rewards, dropped)[2]}
        return [r for r in rows if r.id.prompt in live], [r for r in rows if r.id.prompt not in live]

    def _size(self, part: Sequence[Row], dropped: set) -> float:
        kept = [row for row in part if row.id not in dropped]
        return part_size(self.grpo.loss, [len(r.completion) for r in kept], [r.id.prompt for r in kept])

    def _advantages(
        self, part: Sequence[Row], rewards: Mapping, dropped: set
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """([n] advantages, [n] weights of the part's own loss, groups with signal); zero where dropped."""
        gain, weight, live = np.zeros(len(part)), np.zeros(len(part)), 0
        kept = [i for i, row in enumerate(part) if row.id not in dropped]
        if not kept:
            return gain, weight, live
        groups = np.array([part[i].id.prompt for i in kept])
        lengths = np.array([len(part[i].completion) for i in kept])
        weight[kept] = completion_weights(self.grpo.loss, lengths, groups, self.max_new_tokens)
        for group in np.unique(groups):
            members = [i for i, g in zip(kept, groups, strict=True) if g == group]
            gain[members] = advantages(
                [rewards[part[i].id] for i in members], self.grpo.advantage, self.grpo.std
            )
            live += bool(gain[members].any())
        return gain, weight, live


def by_group(rewards: Mapping[CompletionId, float], dropped: set) -> dict[int, list[float]]:
    """Rewards in order of their ids, by group; groups of which everything was dropped are empty."""
    groups: dict[int, list[float]] = {}
    for id, reward in sorted(rewards.items()):
        kept = groups.setdefault(id.prompt, [])
        if id not in dropped:
            kept.append(reward)
    return groups
