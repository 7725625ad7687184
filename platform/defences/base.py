"""What a defence is: it scores every completion alike, and a threshold decides."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.config.experiment import Experiment, Sampling
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.registry import Kinded

if TYPE_CHECKING:
    from turncoat.platform.judges.base import Case, Ruling


class DefenceSettings(Kinded):
    """What every defence may be told. A defence's nested `Settings` derive from this."""

    name: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")
    """What its scores are filed under; unset: its kind. Needed where one kind is used twice."""
    threshold: float = 0.0
    """It objects to a completion whose score is above this."""
    calibration: str | None = None
    """A file that `turncoat calibrate` wrote: its threshold takes the place of `threshold`."""
    effect: Literal["drop", "zero_reward"] = "drop"
    """What becomes of a rejected completion: it leaves its group, or it stays there and earns nothing, so
    that its advantage falls (the paper's judge)."""
    only_needed: bool = False
    """Ask it about completions that would earn a reward, and only while the decision is still open. The
    others get no score; a ROC curve is then one of those that were asked."""

    @property
    def label(self) -> str:
        return self.name or self.kind


@dataclass(frozen=True)
class Batch:
    """n completions of one round, sorted by id, and what the receiver itself found out about them.

    prompts, verdicts, rewards ([n] float), tokens ([n] int, end token included): each in the order of
    `completions`. evidence: the same for a defence that `needs_tokens`, else empty.
    """

    completions: Sequence[Completion]
    prompts: Sequence[Prompt]
    verdicts: Sequence[str]
    rewards: NDArray[np.float64]
    tokens: NDArray[np.int64]
    evidence: Sequence[Evidence] = ()

    def __len__(self) -> int:
        return len(self.completions)

    @property
    def round(self) -> int:
        return self.completions[0].id.round

    def of(self, chosen: NDArray[np.bool_]) -> "Batch":
        """The completions where `chosen` ([n] bool) holds."""
        at = np.flatnonzero(chosen).tolist()
        return Batch(
            [self.completions[i] for i in at],
            [self.prompts[i] for i in at],
            [self.verdicts[i] for i in at],
            self.rewards[at],
            self.tokens[at],
            [self.evidence[i] for i in at] if self.evidence else (),
        )


@dataclass(frozen=True)
class Surroundings:
    """What a defence may work with besides the completions.

    generate: (prompt texts, seeds, sampling) -> completions of the receiver's own present policy. assigned:
    (round) -> the prompts, by group, that the protocol deals out. judges: label of a defence with a judge ->
    what asks its judge.
    """

    experiment: Experiment
    generate: Callable[[Sequence[str], Sequence[int], Sampling], list[Generated]]
    assigned: Callable[[int], Mapping[int, Prompt]]
    judges: Mapping[str, Callable[[Sequence["Case"]], list["Ruling"]]]


class Defence(ABC):
    """Base of every defence, built as `cls(settings, surroundings)`.

    It sees all completions, honest ones too, and never learns who is malicious. Scores are logged with the
    truth, so that any other threshold can be judged later without a new run.
    """

    Settings: ClassVar[type[DefenceSettings]]
    needs_tokens: ClassVar[bool] = False
    """It looks at log-probabilities and ranks: it is then asked part by part, within the forward pass."""
    per_completion: ClassVar[bool] = False
    """Its score of a completion does not depend on the others: where it stands behind a defence that
    `needs_tokens`, it is asked after it. Every other text defence is asked before the forward passes."""
    homogeneous_only: ClassVar[bool] = False
    """It stands on peers that hold the same weights."""

    def __init__(self, settings: DefenceSettings, surroundings: Surroundings):
        self.settings = settings
        self.surroundings = surroundings
        self.counts: Counter[str] = Counter()
        """What it wants counted in the round's line, e.g. malformed verdicts; the receiver empties it."""
        self.notes: dict[CompletionId, str] = {}
        """What it wants kept beside a score, e.g. a judge's words; the receiver empties it."""

    @abstractmethod
    def score(self, batch: Batch) -> NDArray:
        """[n] suspicion of each completion, higher is worse; NaN where it could not be computed."""

    def rejects(self, scores: NDArray) -> NDArray:
        """[n] bool. NaN is rejected: a score that could not be computed is no reason to trust."""
        return ~(scores <= self.settings.threshold)
