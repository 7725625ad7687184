"""DoS: right answers at needless length, until honest peers ramble too."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Literal

from pydantic import Field, model_validator

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.knowledge import agreeing, ballots, draws, elect, verified
from turncoat.platform.attacks.poisoning import Forged, ShareAttack, ShareSettings
from turncoat.platform.engines.base import Generated
from turncoat.platform.records import Completion, Request


class LengthAttack(ShareAttack):
    """Sample many completions from the policy, send the longest of the right ones ("Hail to the Thief", 4.1).

    All its tokens are the policy's own, so there is no payload to find: its measure is the length of honest
    peers' completions against that of a run without attack. A prompt without a right sample is not poisoned.
    """

    class Settings(ShareSettings):
        kind: Literal["length"] = "length"
        knowledge: Literal["oracle", "majority_vote"] = "oracle"
        """Right is what the ground truth verifies, or what gives the most common answer."""
        samples: int = Field(80, ge=1, le=1000)
        """Completions of each prompt to choose from."""
        votes: int = Field(32, ge=1)
        """How many of the samples, from the first on, vote for the most common answer."""
        copies: Literal["identical", "distinct"] = "distinct"
        """Send the longest for every completion of a prompt, or the longest ones, each once; where these run
        out, from the longest on again."""

        @model_validator(mode="after")
        def samples_suffice(self) -> "LengthAttack.Settings":
            if self.knowledge == "majority_vote" and self.votes > self.samples:
                raise ValueError(f"votes is {self.votes}: allowed is at most samples = {self.samples}")
            return self

    settings: Settings

    def forge(self, groups: Sequence[Sequence[Request]], stage: Stage) -> Sequence[Forged]:
        prompts, first = [slots[0].prompt for slots in groups], groups[0][0].id
        samples = draws(prompts, self.settings.samples, stage, "length", first.round, first.peer)
        if self.settings.knowledge == "oracle":
            right = verified(prompts, samples, stage.task)
        else:
            given = ballots(samples, stage.task)
            right = agreeing(samples, given, [elect(answers[: self.settings.votes]) for answers in given])
        return [self._longest(slots, written) for slots, written in zip(groups, right, strict=True)]

    def _longest(self, slots: Sequence[Request], right: Sequence[Generated]) -> Forged:
        if not right:
            return [None] * len(slots)
        distinct: dict[str, Generated] = {}
        # Sorting is stable: of two equally long ones, the first that was drawn.
        for one in sorted(right, key=lambda one: -one.tokens):
            distinct.setdefault(one.text, one)
        chosen = list(distinct.values())[: 1 if self.settings.copies == "identical" else len(slots)]
        return [
            (Completion(slot.id, slot.prompt.id, one.text, one.finished), "poisoned")
            for slot, one in zip(slots, islice(cycle(chosen), len(slots)), strict=True)
        ]
