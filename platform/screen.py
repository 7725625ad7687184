"""The defences of one receiver at work: asked in order, weighed by the decision, remembered by reputation."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from turncoat.platform.decide import Decision
from turncoat.platform.defences.base import Batch, Defence
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence, Row
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.reputation import Reputation, Standing

QUARANTINE = "quarantine"
"""Stands among the objectors to whatever a quarantined peer sends."""


class Screen:
    """All defences of one receiver, and what it remembers from round to round.

    Text defences are asked first, over the whole round, in the order of the config; then, part by part within
    the forward passes, those that need the tokens' log-probabilities, and those that stand behind one of them
    and judge each completion by itself.
    """

    def __init__(
        self,
        defences: Sequence[Defence] = (),
        decision: Decision | None = None,
        reputation: Reputation | None = None,
    ):
        self.defences = {defence.settings.label: defence for defence in defences}
        self.decision = decision or Decision()
        self.standing = Standing(reputation) if reputation else None
        tokens = [i for i, defence in enumerate(defences) if defence.needs_tokens]
        first = tokens[0] if tokens else len(defences)
        within = [d for i, d in enumerate(defences) if d.needs_tokens or (d.per_completion and i > first)]
        self.within = {defence.settings.label: defence for defence in within}
        self.before = {name: one for name, one in self.defences.items() if name not in self.within}
        self.needs_tokens = bool(tokens)

    @property
    def may_zero_within(self) -> bool:
        """Whether a reward may still change during the passes."""
        return any(defence.settings.effect == "zero_reward" for defence in self.within.values())

    def open(
        self,
        completions: Sequence[Completion],
        prompts: Mapping[int, Prompt],
        rows: Sequence[Row],
        verdicts: Mapping[CompletionId, str],
        rewards: Mapping[CompletionId, float],
    ) -> "Screening":
        """Begin a round. rewards: before any defence has spoken."""
        batch = Batch(
            completions,
            [prompts[one.id.prompt] for one in completions],
            [verdicts[one.id] for one in completions],
            np.array([rewards[one.id] for one in completions], dtype=float),
            np.array([len(row.completion) for row in rows], dtype=np.int64),
        )
        return Screening(self, batch)


class Screening:
    """One round under the screen. `scores`, `rejected`, `dropped`, `rewards`: by completion id, up to now."""

    def __init__(self, screen: Screen, batch: Batch):
        self.screen, self.batch = screen, batch
        ids = [one.id for one in batch.completions]
        self.at = {id: i for i, id in enumerate(ids)}
        self.scores: dict[CompletionId, dict[str, float]] = {id: {} for id in ids}
        self.objections: dict[CompletionId, dict[str, bool]] = {id: {} for id in ids}
        self.notes: dict[CompletionId, dict[str, str]] = {id: {} for id in ids}
        self.rewards = dict(zip(ids, batch.rewards.tolist(), strict=True))
        self.rejected: set[CompletionId] = set()
        self.dropped: set[CompletionId] = set()
        self.costs = dict.fromkeys(screen.defences, 0.0)
        self.quarantined: frozenset[int] = frozenset()
        if screen.standing and ids:
            self.quarantined = screen.standing.quarantined({id.peer for id in ids}, batch.round)
            self.dropped = {id for id in ids if id.peer in self.quarantined}
            self.rejected = set(self.dropped)

    def ask_before_passes(self) -> None:
        """Ask the defences that need no forward pass, about the whole round."""
        for name, defence in self.screen.before.items():
            self._ask(name, defence, self.batch)
        self._decide(self.at)

    def ask_within_pass(self, ids: Sequence[CompletionId], evidence: Sequence[Evidence]) -> None:
        """Ask the others about one part, with what the forward pass says about its tokens."""
        at = [self.at[id] for id in ids]
        whole = self.batch
        part = Batch(
            [whole.completions[i] for i in at],
            [whole.prompts[i] for i in at],
            [whole.verdicts[i] for i in at],
            whole.rewards[at],
            whole.tokens[at],
            evidence,
        )
        for name, defence in self.screen.within.items():
            self._ask(name, defence, part)
        self._decide(ids)

    def objectors(self, id: CompletionId) -> tuple[str, ...]:
        """Who objects to a completion."""
        own = tuple(name for name, objects in self.objections[id].items() if objects)
        return (*own, QUARANTINE) if id.peer in self.quarantined else own

    def close(self, remember: bool = True) -> dict[str, dict[str, int]]:
        """End the round: keep it in mind, if so wanted; returns what each defence counted."""
        if remember and self.screen.standing and self.at:
            names = list(self.screen.defences)
            bad = Counter(id.peer for id in self.at if self.screen.decision.rejected(names, self._meant(id)))
            total = Counter(id.peer for id in self.at)
            self.screen.standing.record(self.batch.round, {peer: (bad[peer], n) for peer, n in total.items()})
        counted = {}
        for name, defence in self.screen.defences.items():
            if defence.counts:
                counted[name] = dict(sorted(defence.counts.items()))
            defence.counts.clear()
        return counted

    def _ask(self, name: str, defence: Defence, batch: Batch) -> None:
        start = time.perf_counter()
        if defence.settings.only_needed:
            batch = batch.of(np.array([self._needed(one.id) for one in batch.completions], dtype=bool))
        if len(batch):
            found = defence.score(batch)
            objects = defence.rejects(found)
            for one, score, bad in zip(batch.completions, found.tolist(), objects.tolist(), strict=True):
                self.scores[one.id][name] = score
                self.objections[one.id][name] = bad
            for id, note in defence.notes.items():
                self.notes[id][name] = note
            defence.notes.clear()
        self.costs[name] += time.perf_counter() - start

    def _needed(self, id: CompletionId) -> bool:
        if self.batch.rewards[self.at[id]] <= 0 or id in self.dropped:
            return False
        return not self.screen.decision.settled(list(self.screen.defences), self.objections[id])

    def _decide(self, ids: Sequence[CompletionId] | Mapping[CompletionId, int]) -> None:
        names = list(self.screen.defences)
        for id in ids:
            if id in self.dropped or not self.screen.decision.rejected(names, self.objections[id]):
                continue
            self.rejected.add(id)
            objectors = [name for name, objects in self.objections[id].items() if objects]
            if any(self._drops(name, self.scores[id][name]) for name in objectors):
                self.dropped.add(id)
            else:
                self.rewards[id] = min(0.0, self.rewards[id])

    def _meant(self, id: CompletionId) -> dict[str, bool]:
        # A judge that is down rejects everybody's completions: that is no strike against anybody.
        scores = self.scores[id]
        return {name: bad and scores[name] == scores[name] for name, bad in self.objections[id].items()}

    def _drops(self, name: str, score: float) -> bool:
        # A defence that failed is no verdict on the completion: it must not become a reward of 0.
        return self.screen.defences[name].settings.effect == "drop" or score != score
