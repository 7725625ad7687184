"""What the two judging defences share: cases out of completions, votes, and scores out of rulings."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings
from turncoat.platform.ids import seed_of
from turncoat.platform.judges.base import Case, Ruling

NOTE_CHARS = 2_000
"""Of what is kept of all votes on one completion."""


class VoteSettings(DefenceSettings):
    """What a defence that asks for verdicts may be told."""

    votes: int = Field(1, ge=1)
    """Verdicts on each completion, each with a seed of its own."""
    fail: Literal["closed", "open"] = "closed"
    """What a malformed verdict counts as: closed, a no; open, a yes. They are counted apart all the same."""
    threshold: float = Field(0.5, ge=0, lt=1)
    """Tolerated share of votes that are not yes."""
    effect: Literal["drop", "zero_reward"] = "zero_reward"
    """The paper's judge multiplies the reward: r <- r * r_judge (section 5)."""
    only_needed: bool = True
    """Verdicts are dear, and one on a completion that earns nothing changes nothing."""


class Votes(Defence):
    """Base of the judging defences: the score is the share of votes that are not yes.

    Votes that could not be had ("error", "timeout") are left out; where none came, the score is NaN, and the
    completion is dropped without a reward of 0 being learnt. All five outcomes are counted. Notes: the words
    of every vote.
    """

    settings: VoteSettings
    per_completion: ClassVar[bool] = True

    @abstractmethod
    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        """One ruling per case, in order."""

    def score(self, batch: Batch) -> NDArray[np.float64]:
        votes = self.settings.votes
        run_seed, kind = self.surroundings.experiment.seed, self.settings.kind
        rulings = self.rule(
            [
                Case(prompt.text, one.text, seed_of(run_seed, kind, *one.id, vote))
                for one, prompt in zip(batch.completions, batch.prompts, strict=True)
                for vote in range(votes)
            ]
        )
        self.counts.update(ruling.verdict for ruling in rulings)
        scores = []
        for i, one in enumerate(batch.completions):
            heard = rulings[i * votes : (i + 1) * votes]
            self.notes[one.id] = "\n".join(f"{vote.verdict}: {vote.text}" for vote in heard)[:NOTE_CHARS]
            scores.append(self._share(heard))
        return np.array(scores)

    def _share(self, heard: Sequence[Ruling]) -> float:
        against = {"no"} if self.settings.fail == "open" else {"no", "malformed"}
        told = [ruling.verdict in against for ruling in heard if ruling.verdict not in ("error", "timeout")]
        return sum(told) / len(told) if told else float("nan")
