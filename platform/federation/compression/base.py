"""What a compressor is: what a client could send, and what it sends of that under a budget."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.largest import CHUNK, largest
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import Kinded

Vector = NDArray[np.float32]


class Compressor(ABC):
    """Base of every compressor, built as `cls(settings)`; it keeps nothing from round to round.

    A client calls `offer` in a round's first phase and reports `nnz` of it, then `send` in the second, with
    the budget it was granted.
    """

    Settings: ClassVar[type[Kinded]]
    decay: ClassVar[float | None] = None
    """The error feedback that belongs to the method, by its β. None: the method has none of its own."""

    def __init__(self, settings: Kinded):
        self.settings = settings

    @property
    def coding(self) -> str | None:
        """How all its values travel, as the wire format names it; None: in any of its ways."""
        return None

    @property
    def bits(self) -> tuple[int, int] | None:
        """(bits of a value, entries that share two scales), where `coding` is "bits"."""
        return None

    @abstractmethod
    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        """What would be sent without a budget, values not rounded yet.

        trained, base: [N] float32, after and before local training. `feedback` takes in their difference.
        Raises ValueError if `trained` is not finite.
        """

    def send(
        self, offered: Sparse, budget: int | None = None, feedback: ErrorFeedback | None = None
    ) -> Sparse:
        """The at most `budget` largest entries offered, as they will travel; `feedback` keeps the rest."""
        if budget is not None and budget < offered.nnz:
            offered = offered.at(largest(offered.values, budget))
        update = self.rounded(offered)
        if feedback is not None:
            feedback.sent(update)
        return update

    def compress(
        self,
        trained: Vector,
        base: Vector,
        budget: int | None = None,
        feedback: ErrorFeedback | None = None,
    ) -> Sparse:
        """Both phases at once."""
        return self.send(self.offer(trained, base, feedback), budget, feedback)

    def rounded(self, update: Sparse) -> Sparse:
        """The values as the receiver will see them."""
        return update


class Difference:
    """s = β e + (trained - base), part by part; without error feedback just the difference."""

    def __init__(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None):
        """Raises ValueError if the difference is not finite."""
        self.trained, self.base, self.feedback = trained, base, feedback
        for start in range(0, len(base), CHUNK):
            delta = trained[start : start + CHUNK] - base[start : start + CHUNK]
            finite(delta)
            if feedback is not None:
                feedback.add(start, delta)

    def __call__(self, start: int, stop: int) -> Vector:
        if self.feedback is not None:
            return self.feedback.residual[start:stop]
        return self.trained[start:stop] - self.base[start:stop]


def finite(values: Vector) -> None:
    """Raises ValueError: a client does not send what every receiver refuses."""
    if not np.isfinite(values).all():
        raise ValueError("local training left weights that are NaN or infinite; allowed are finite ones")
