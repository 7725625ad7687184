"""What an honest peer does with a gathered round: verify, score, decide, learn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from turncoat.platform.config.experiment import Grpo
from turncoat.platform.defences.base import Defence
from turncoat.platform.grpo.advantages import advantages
from turncoat.platform.grpo.losses import completion_weights, part_size
from turncoat.platform.grpo.shaping import overlong_punishment
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence, Learner, Row
from turncoat.platform.outcome import Outcome
from turncoat.platform.policies.tokens import encode_foreign
from turncoat.platform.records import Belief, Completion, Prompt
from turncoat.platform.tasks.base import Task


class Receiver:
    """A peer's own judgement: nothing that a sender claims about reward, length or probability enters it."""

    def __init__(
        self,
        task: Task,
        tokenizer: Any,
        learner: Learner,
        defences: Mapping[str, Defence],
        grpo: Grpo,
        max_new_tokens: int,
    ):
        self.task, self.tokenizer, self.learner, self.grpo = task, tokenizer, learner, grpo
        self.max_new_tokens = max_new_tokens
        self.on_text = {name: defence for name, defence in defences.items() if not defence.needs_tokens}
        self.on_tokens = {name: defence for name, defence in defences.items() if defence.needs_tokens}

    def receive(self, completions: Sequence[Completion], prompts: Mapping[int, Prompt]) -> Outcome:
        """Judge a round, sorted by id, and take one optimiser step. prompts: the round's, by group index."""
        outcome = Outcome([])
        texts = {one.id: one for one in completions}
        with outcome.timed("verify"):
            rows, overlong = self._tokenise(completions, prompts)
            # What stands beyond the limit is not learnt from, so it earns nothing either.
            verdicts = {
                one.id: "malformed"
                if one.id in overlong
                else self.task.verify(prompts[one.id.prompt], one.text)
                for one in completions
            }
            rewards = {row.id: self._reward(verdicts[row.id], row) for row in rows}
        scores: dict[CompletionId, dict[str, float]] = {one.id: {} for one in completions}
        rejected: dict[CompletionId, tuple[str, ...]] = {one.id: () for one in completions}
        with outcome.timed("score"):
            self._score(self.on_text, completions, [], scores, rejected)

        gains = dict.fromkeys(texts, 0.0)
        useful, idle = self._split(rows, rewards, rejected)
        parts, size = self.learner.parts(useful), 0.0
        if self.on_tokens:
            # In parts of their own, they need one pass for the evidence, and none backwards.
            parts += self.learner.parts(idle)
        else:
            # Nothing to learn from them, and nobody asks for their log-probabilities: no pass at all.
            size = self._size(idle, rejected)
        for part in parts:
            # Without the defences, a part that teaches nothing would have cost nothing.
            teaches = self.grpo.kl_beta > 0 or self._advantages(part, rewards, rejected)[2] > 0
            with outcome.timed("learn" if teaches else "score"), torch.set_grad_enabled(teaches):
                forward = self.learner.forward(part, ranks=bool(self.on_tokens))
            with outcome.timed("score"):
                chosen = [texts[row.id] for row in part]
                self._score(self.on_tokens, chosen, forward.evidence, scores, rejected)
            with outcome.timed("learn"):
                gain, weight, live = self._advantages(part, rewards, rejected)
                gains.update(zip((row.id for row in part), gain.tolist(), strict=True))
                outcome.groups_with_signal += live
                share = self._size(part, rejected)
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
        outcome.beliefs = [
            Belief(
                id=row.id,
                reward=rewards[row.id],
                verdict=verdicts[row.id],
                tokens=len(row.completion),
                advantage=gains[row.id],
                accepted=not rejected[row.id],
                scores=scores[row.id],
                rejected_by=rejected[row.id],
            )
            for row in rows
        ]
        return outcome

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

    def _score(
        self,
        defences: Mapping[str, Defence],
        completions: Sequence[Completion],
        evidence: Sequence[Evidence],
        scores: dict[CompletionId, dict[str, float]],
        rejected: dict[CompletionId, tuple[str, ...]],
    ) -> None:
        for name, defence in defences.items():
            found = defence.score(completions, evidence)
            for one, score, bad in zip(
                completions, found.tolist(), defence.rejects(found).tolist(), strict=True
            ):
                scores[one.id][name] = score
                if bad:
                    rejected[one.id] += (name,)

    def _split(self, rows: Sequence[Row], rewards: Mapping, rejected: Mapping) -> tuple[list[Row], list[Row]]:
        """(rows to learn from, rows of whole groups that teach nothing)."""
        if self.grpo.kl_beta:
            return list(rows), []
        groups: dict[int, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.id.prompt, []).append(row)
        live = {index for index, group in groups.items() if self._advantages(group, rewards, rejected)[2]}
        return [r for r in rows if r.id.prompt in live], [r for r in rows if r.id.prompt not in live]

    def _size(self, part: Sequence[Row], rejected: Mapping) -> float:
        kept = [row for row in part if not rejected[row.id]]
        return part_size(self.grpo.loss, [len(r.completion) for r in kept], [r.id.prompt for r in kept])

    def _advantages(
        self, part: Sequence[Row], rewards: Mapping, rejected: Mapping
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """([n] advantages, [n] weights of the part's own loss, groups with signal); zero where rejected."""
        gain, weight, live = np.zeros(len(part)), np.zeros(len(part)), 0
        kept = [i for i, row in enumerate(part) if not rejected[row.id]]
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
