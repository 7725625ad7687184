"""What poisoners share: part of each group's completions carries the poison, the rest hides or lifts it."""

import random
import re
from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from math import ceil
from typing import Literal

from pydantic import Field

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage, answered
from turncoat.platform.attacks.knowledge import Samples, agreeing, ballots, draws, elect, verified
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Completion, Prompt, Request, Truth

Forged = Sequence[tuple[Completion, Truth] | None]
"""What goes into the slots of one prompt. None: there is nothing to poison."""


class ShareSettings(AttackSettings):
    poison_share: float = Field(1.0, gt=0, le=1)
    """Share of its completions of each prompt that the peer poisons, rounded up."""
    filler: Literal["none", "gibberish"] = "none"
    """The rest of its completions: honest ones, or wrong ones that raise the poison's advantage."""


class ShareAttack(Attack):
    """Poison a share of each group. A subclass says what the poison is."""

    settings: ShareSettings

    @abstractmethod
    def forge(self, groups: Sequence[Sequence[Request]], stage: Stage) -> Sequence[Forged]:
        """What to send for the slots that are to be poisoned, by prompt."""

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        groups = [list(group) for _, group in groupby(requests, lambda request: request.id.prompt)]
        slots = [group[: self._poisoned(len(group))] for group in groups]
        sent: Sent = []
        rest: list[Request] = []
        for group, forged in zip(groups, self.forge(slots, stage), strict=True):
            sent += [one for one in forged if one is not None]
            rest += [request for request, one in zip(group, forged, strict=False) if one is None]
            rest += group[len(forged) :]
        return sent + self._fill(rest, stage)

    def _poisoned(self, completions: int) -> int:
        # Rounded first: 0.55 * 20 is a hair above 11.
        return ceil(round(self.settings.poison_share * completions, 9))

    def _fill(self, requests: Sequence[Request], stage: Stage) -> Sent:
        if self.settings.filler == "none":
            return stage.honest(requests)
        return [(answered(request, gibberish(request, stage.run_seed)), "filler") for request in requests]


class PoisonSettings(ShareSettings):
    knowledge: Literal["oracle", "majority_vote"] = "oracle"
    """Poison the data set's solution, or a sample that gives the policy's most common answer."""
    votes: int = Field(24, ge=1)
    """Samples of a majority vote."""
    copies: Literal["identical", "distinct"] = "identical"
    """Poison one solution of a prompt again and again, or for each completion another right one, which the
    peer's policy wrote; where these run out, the first again."""
    draws_per_copy: int = Field(4, ge=1, le=64)
    """Samples of a prompt for each distinct copy of it. Only the right ones serve."""


class PoisonAttack(ShareAttack):
    """Work a payload into right solutions. A subclass says how."""

    settings: PoisonSettings

    @abstractmethod
    def inject(self, solution: str, prompt: Prompt, stage: Stage) -> str | None:
        """A right completion with the payload in it; None if there is no place for one."""

    def forge(self, groups: Sequence[Sequence[Request]], stage: Stage) -> Sequence[Forged]:
        references, own = self._solutions(groups, stage)
        return [
            self._forged(slots, right, reference, stage)
            for slots, right, reference in zip(groups, own, references, strict=True)
        ]

    def _forged(
        self, slots: Sequence[Request], own: Sequence[str], references: Sequence[str], stage: Stage
    ) -> Forged:
        prompt = slots[0].prompt
        texts: list[str] = []
        for solution in own:
            text = self.inject(solution, prompt, stage) if len(texts) < len(slots) else None
            if text is not None and text not in texts:
                texts.append(text)
        if len(texts) < len(slots):
            injected = (self.inject(solution, prompt, stage) for solution in references)
            again = next((text for text in injected if text is not None), texts[0] if texts else None)
            if again is None:
                return [None] * len(slots)
            texts += [again] * (len(slots) - len(texts))
        return [(answered(slot, text), "poisoned") for slot, text in zip(slots, texts, strict=True)]

    def _solutions(
        self, groups: Sequence[Sequence[Request]], stage: Stage
    ) -> tuple[list[list[str]], list[list[str]]]:
        """(what the attacker takes for right, solutions for distinct copies), by prompt.

        Both best first; the second is empty where the copies are identical.
        """
        prompts, first = [slots[0].prompt for slots in groups], groups[0][0].id
        winners: list[str | None] = []
        if self.settings.knowledge == "oracle":
            references = [[stage.task.worked(prompt)] for prompt in prompts]
        else:
            votes = draws(prompts, self.settings.votes, stage, "majority-vote", first.round)
            given = ballots(votes, stage.task)
            winners = [elect(answers) for answers in given]
            references = texts_of(agreeing(votes, given, winners))
        if self.settings.copies == "identical":
            return references, [[] for _ in prompts]
        wanted = self.settings.draws_per_copy * max(map(len, groups))
        samples = draws(prompts, wanted, stage, "copies", first.round, first.peer)
        if self.settings.knowledge == "oracle":
            right = verified(prompts, samples, stage.task)
        else:
            right = agreeing(samples, ballots(samples, stage.task), winners)
        own = texts_of(right)
        return references, [[*mine, *known] for mine, known in zip(own, references, strict=True)]


def texts_of(samples: Samples) -> list[list[str]]:
    return [[one.text for one in written] for written in samples]


def gibberish(request: Request, run_seed: int) -> str:
    """The prompt's own words in random order, without the format that is asked for: its reward is 0."""
    rng = random.Random(seed_of(run_seed, "gibberish", *request.id))
    words = re.findall(r"\w+", request.prompt.text)[-24:]
    return " ".join(rng.sample(words, len(words)))
