"""What a defence is: it scores every completion alike, and a threshold decides."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from numpy.typing import NDArray

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.learners.base import Evidence
from turncoat.platform.records import Completion
from turncoat.platform.registry import Kinded


class DefenceSettings(Kinded):
    """What every defence may be told. A defence's nested `Settings` derive from this."""

    threshold: float = 0.0
    """A completion is rejected when its score is above this."""


class Defence(ABC):
    """Base of every defence, built as `cls(settings, sampling)`.

    It sees all completions, honest ones too, and never learns who is malicious. Scores are logged with the
    truth, so that any other threshold can be judged later without a new run.
    """

    Settings: ClassVar[type[DefenceSettings]]
    needs_tokens: ClassVar[bool] = False
    """It looks at log-probabilities and ranks: it is then asked part by part, within the forward pass."""

    def __init__(self, settings: DefenceSettings, sampling: Sampling):
        self.settings = settings
        self.sampling = sampling

    @abstractmethod
    def score(self, completions: Sequence[Completion], evidence: Sequence[Evidence]) -> NDArray:
        """[n] suspicion of each completion, higher is worse. `evidence` is empty unless `needs_tokens`."""

    def rejects(self, scores: NDArray) -> NDArray:
        """[n] bool. NaN is rejected: a score that could not be computed is no reason to trust."""
        return ~(scores <= self.settings.threshold)
