"""Fixed sampling of the data: nobody picks questions."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings


class FixedSampling(Defence):
    """Reject completions of prompts that the protocol did not deal out for their place in the round.

    Score: 1 where the prompt is another, else 0. Who answers which row follows from the run's seed, round and
    group, so every peer can check it. Source: our own; in the paper, peers of vertical swarms choose. Should
    see: `equation`, and whatever else needs questions of its own choice. Blind to: any text about
    the right prompt. In horizontal swarms nobody can choose, and it has nothing to do.
    """

    class Settings(DefenceSettings):
        kind: Literal["fixed_sampling"] = "fixed_sampling"
        threshold: float = Field(0.0, ge=0, lt=1)

    settings: Settings
    per_completion: ClassVar[bool] = True

    def score(self, batch: Batch) -> NDArray[np.float64]:
        dealt = self.surroundings.assigned(batch.round)
        return np.array([float(dealt[one.id.prompt].id != one.prompt_id) for one in batch.completions])
