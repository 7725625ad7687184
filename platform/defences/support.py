"""The logit check: could the policy itself have sampled these tokens?"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings, Surroundings
from turncoat.platform.learners.base import Evidence


class SupportCheck(Defence):
    """Reject completions with tokens outside the generation support (top-k of the receiver's own policy).

    Score: the share of a completion's tokens outside the support, 0 to 1. The paper's rule ("Hail to the
    Thief", section 5: every token within the top k) is threshold 0 with slack 0. Stands on peers holding the
    same weights. An empty completion has no token outside and scores 0; its reward is 0 as well.
    """

    class Settings(DefenceSettings):
        kind: Literal["support"] = "support"
        k: int | None = Field(None, ge=1)
        """Size of the support. Unset: `sampling.top_k`."""
        slack: int = Field(0, ge=0)
        """Ranks beyond k that still count as inside: another engine or batch shape orders near-ties
        differently."""
        min_prob: float = Field(0.0, ge=0, lt=1)
        """A token less probable than this, at the sampling temperature, is outside whatever its rank."""
        threshold: float = Field(0.0, ge=0, le=1)
        """Tolerated share of tokens outside the support."""

    settings: Settings
    needs_tokens: ClassVar[bool] = True
    homogeneous_only: ClassVar[bool] = True

    def __init__(self, settings: Settings, surroundings: Surroundings):
        super().__init__(settings, surroundings)
        k = settings.k or surroundings.experiment.sampling.top_k
        if not k:
            raise ValueError("support needs a k where sampling.top_k is 0 (all tokens): allowed is k >= 1")
        self.limit = k + settings.slack

    def score(self, batch: Batch) -> NDArray[np.float64]:
        return np.array([self._outside(tokens) for tokens in batch.evidence])

    def _outside(self, tokens: Evidence) -> float:
        if not len(tokens.ranks):
            return 0.0
        outside = tokens.ranks >= self.limit
        if self.settings.min_prob:
            outside = outside | (np.exp(tokens.logprobs) < self.settings.min_prob)
        return float(outside.mean())
