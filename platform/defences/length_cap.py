"""A cap on length: the denial-of-service attack makes completions longer, and nothing else."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings


class LengthCap(Defence):
    """Reject long completions.

    Score: the completion's tokens as the receiver counts them, where `relative` over the swarm's own
    reference: the median over peers of the `quantile` of each peer's lengths in this round, which a minority
    of peers cannot move beyond what honest ones sent. Source: our own. Should see: `length`. Blind to
    everything else. Defeated by: poison that stays below the cap; where `relative`, a frog in warming water:
    completions just below the threshold make honest ones longer, and the reference goes up with them, round
    by round. A fixed cap does not move, and also rejects what honest peers may have had to learn to write.
    """

    class Settings(DefenceSettings):
        kind: Literal["length_cap"] = "length_cap"
        relative: bool = True
        """Divide by the swarm's reference of this round. Off: the threshold is a number of tokens."""
        quantile: float = Field(0.9, gt=0, le=1)
        """Of each peer's lengths, for the reference."""
        threshold: float = Field(1.2, gt=0)
        """Times the reference; or tokens, e.g. from `turncoat calibrate`."""

        @model_validator(mode="after")
        def a_cap_is_in_tokens(self) -> "LengthCap.Settings":
            if not self.relative and "threshold" not in self.model_fields_set and self.calibration is None:
                raise ValueError(
                    "threshold is unset with relative: false; allowed is a number of tokens, or a calibration"
                )
            return self

    settings: Settings
    per_completion: ClassVar[bool] = False

    def score(self, batch: Batch) -> NDArray[np.float64]:
        tokens = batch.tokens.astype(float)
        if not self.settings.relative:
            return tokens
        peers = np.array([one.id.peer for one in batch.completions])
        quantiles = [np.quantile(tokens[peers == peer], self.settings.quantile) for peer in np.unique(peers)]
        # No text at all has a length of 0; a swarm that sends nothing else has no reference to speak of.
        return tokens / max(1.0, float(np.median(quantiles)))
