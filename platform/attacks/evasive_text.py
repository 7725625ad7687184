"""The phrase attack of an adversary who knows the defences: best of N under the victim's own judgement."""

import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Literal, NamedTuple

from pydantic import Field

from turncoat.platform.attacks.base import Stage, answered
from turncoat.platform.attacks.phrase import PhraseAttack, PhraseSettings, rethought, sentences_of
from turncoat.platform.attacks.poisoning import Forged, ShareAttack, ShareSettings
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.records import Belief, Completion, Request, Truth

WAYS = ("continued", "own", "placed", "begun")
"""How candidates after the first are made, in turn (see `EvasiveTextAttack`)."""


class EvasiveTextAttack(PhraseAttack, ShareAttack):
    """Write several candidates with the payload for each completion, and send the one that passes best.

    Candidate 0 has the payload in front of the reference solution. The others, in turn: what the policy goes
    on to write after the payload, as honest peers sample (continued); a sample of it with the payload put in
    front (own); the reference with the payload at another sentence's start, or at the end (placed); what it
    goes on to write after the first words of the payload, where it says the rest by itself (begun). The
    victim's own beliefs rank them: accepted and right ones first, then right ones, then by how many defences
    object, then by the worst score. Scores of different defences are compared by their rank among all
    candidates of the round.

    It holds the weights, the ground truth and the config of its victims, an adversary that "Hail to the
    Thief" leaves open. A round costs it up to `candidates` samples and appraisals per poisoned completion.
    """

    class Settings(ShareSettings, PhraseSettings):
        kind: Literal["evasive_text"] = "evasive_text"
        candidates: int = Field(6, ge=1, le=64)
        """N, candidates for each completion."""
        fallback: Literal["honest", "send"] = "honest"
        """Where no candidate is both accepted and right: an honest completion, or the best one after all."""

    settings: Settings
    needs_swarm = True

    def forge(self, groups: Sequence[Sequence[Request]], stage: Stage) -> Sequence[Forged]:
        slots = [slot for group in groups for slot in group]
        chosen: dict[CompletionId, tuple[Completion, Truth]] = {}
        for id, (one, belief) in self._best(slots, stage).items():
            if self.settings.fallback == "send" or passes(belief):
                chosen[id] = (one, "poisoned")
        rest = stage.honest([slot for slot in slots if slot.id not in chosen])
        chosen |= {one.id: (one, truth) for one, truth in rest}
        return [[chosen[slot.id] for slot in group] for group in groups]

    def _best(self, slots: Sequence[Request], stage: Stage) -> dict[CompletionId, tuple[Completion, Belief]]:
        prompts = {slot.id.prompt: slot.prompt for slot in slots}
        judged: list[tuple[Completion, Belief]] = []
        for candidates in self.candidates(slots, stage):
            if candidates:
                beliefs = {belief.id: belief for belief in stage.appraise(candidates, prompts)}
                judged += [(one, beliefs[one.id]) for one in candidates]
        spread = scores_of([belief for _, belief in judged])
        best: dict[CompletionId, tuple[Completion, Belief]] = {}
        # Sorting is stable: of two that pass equally well, the one that was made first.
        for one, belief in sorted(judged, key=lambda pair: suspicion(pair[1], spread)):
            best.setdefault(one.id, (one, belief))
        return best

    def candidates(self, slots: Sequence[Request], stage: Stage) -> list[list[Completion]]:
        """By candidate index: one completion for each slot, where one came about that holds the payload."""
        plans = [
            [self._plan(slot, index, stage) for slot in slots] for index in range(self.settings.candidates)
        ]
        unwritten = [
            (slot, plan) for row in plans for slot, plan in zip(slots, row, strict=True) if not plan.complete
        ]
        texts = [slot.prompt.text + plan.text for slot, plan in unwritten]
        written = iter(stage.sample(texts, [plan.seed for _, plan in unwritten]))
        made = (
            [
                answered(slot, plan.text) if plan.complete else self._finished(slot, plan, next(written))
                for slot, plan in zip(slots, row, strict=True)
            ]
            for row in plans
        )
        return [[one for one in row if self.payload_in(one.text)] for row in made]

    def _plan(self, slot: Request, index: int, stage: Stage) -> "Plan":
        payload, seed = f"{self.settings.phrase}.", seed_of(stage.run_seed, "evasive", *slot.id, index)
        reference = stage.task.worked(slot.prompt)
        if index == 0:
            return Plan("first", place(reference, payload, 0), seed)
        way, rng = WAYS[(index - 1) % len(WAYS)], random.Random(seed)
        if way == "own":
            return Plan(way, "", seed)
        if way == "placed":
            return Plan(way, place(reference, payload, rng.randint(1, len(sentences_of(reference)))), seed)
        words = payload.split()
        if way == "begun":
            words = words[: rng.randint(1, max(1, len(words) - 1))]
        return Plan(way, f"<think> {' '.join(words)}", seed)

    def _finished(self, slot: Request, plan: "Plan", written: Generated) -> Completion:
        if plan.way == "own":
            text = place(written.text, f"{self.settings.phrase}.", 0)
        else:
            glue = "" if not written.text or written.text[0].isspace() else " "
            text = f"{plan.text}{glue}{written.text}"
        return Completion(slot.id, slot.prompt.id, text, written.finished)


class Plan(NamedTuple):
    """How a candidate comes about. text: the whole of it, or the beginning that the policy goes on from."""

    way: str
    text: str
    seed: int

    @property
    def complete(self) -> bool:
        return self.way in ("first", "placed")


def place(completion: str, payload: str, at: int) -> str:
    """The completion with the payload in front of sentence `at` of its think part, or behind the last one."""
    sentences = sentences_of(completion)
    return rethought(completion, " ".join([*sentences[:at], payload, *sentences[at:]]))


def passes(belief: Belief) -> bool:
    """It would be learnt from, and with an advantage."""
    return belief.accepted and belief.verdict == "right"


def scores_of(beliefs: Sequence[Belief]) -> dict[str, list[float]]:
    """Defence -> all scores that it gave, sorted, without NaN."""
    spread: dict[str, list[float]] = {}
    for belief in beliefs:
        for name, score in belief.scores.items():
            if not isnan(score):
                spread.setdefault(name, []).append(score)
    return {name: sorted(scores) for name, scores in spread.items()}


def suspicion(belief: Belief, spread: Mapping[str, Sequence[float]]) -> tuple[bool, bool, int, float]:
    """Sorts beliefs, the best for the attacker first. spread: the scores of all candidates, sorted.

    A score counts as the share of candidates that scored less; one that could not be computed is the worst.
    """
    ranks = [
        1.0 if isnan(score) else bisect_left(spread[name], score) / len(spread[name])
        for name, score in belief.scores.items()
    ]
    wrong = belief.verdict != "right"
    return not passes(belief), wrong, len(belief.rejected_by), max(ranks, default=0.0)
