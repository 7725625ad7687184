"""No compression: every entry is sent."""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from turncoat.platform.federation.compression.base import Compressor, Difference, Vector, finite
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.lattice import moved, patterns, ranks, widen
from turncoat.platform.federation.sparse import Bf16, Sparse, Ulp
from turncoat.platform.registry import Kinded


class Dense(Compressor):
    """Send every entry, as plain FedAvg does: the reference for all others."""

    class Settings(Kinded):
        kind: Literal["dense"] = "dense"
        send: Literal["delta", "weights"] = "delta"
        """`weights`: the new weights themselves. A sum of base and difference is not the new weight in
        float32, so that only this makes a federation of one client equal to central training."""
        values: Literal["fp32", "bf16", "ulp"] = "fp32"
        """`bf16` rounds what is sent. `ulp` sends bf16(trained) - bf16(base), without loss: what `natural`
        sends, with the zeros in between."""

        @model_validator(mode="after")
        def ulps_are_differences(self) -> "Dense.Settings":
            if self.send == "weights" and self.values == "ulp":
                raise ValueError("values is ulp with send: weights; allowed are fp32, bf16")
            return self

    settings: Settings

    @property
    def coding(self) -> str | None:
        return self.settings.values

    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        length = len(base)
        if self.settings.send == "weights":
            if feedback is not None:
                raise ValueError(
                    "new weights leave nothing behind: send: weights goes without error feedback"
                )
            finite(trained)
            return Sparse(length, every(length), trained.copy(), absolute=True)
        if self.settings.values == "ulp":
            if feedback is not None:
                raise ValueError(
                    "values: ulp of every entry leave nothing behind: allowed is no error feedback"
                )
            finite(trained)
            old = patterns(base)
            steps = ranks(patterns(trained)) - ranks(old)
            return Sparse(length, every(length), moved(old, steps), Ulp(steps))
        part = Difference(trained, base, feedback)
        return Sparse(length, every(length), part(0, length).copy())

    def send(
        self, offered: Sparse, budget: int | None = None, feedback: ErrorFeedback | None = None
    ) -> Sparse:
        if budget is not None and budget < offered.nnz:
            raise ValueError(f"budget is {budget}; `dense` sends all {offered.nnz} entries or none")
        return super().send(offered, budget, feedback)

    def rounded(self, update: Sparse) -> Sparse:
        return in_bf16(update) if self.settings.values == "bf16" else update


def in_bf16(update: Sparse) -> Sparse:
    """The same with every value rounded to bfloat16. Raises ValueError where that is infinite."""
    values = widen(patterns(update.values))
    finite(values)
    return Sparse(update.length, update.indices, values, Bf16(), update.absolute)


@lru_cache(maxsize=1)
def every(length: int) -> NDArray[np.int64]:
    """0, 1, ..., N - 1, read-only and shared: it takes four times the room of the vector in bfloat16."""
    indices = np.arange(length)
    indices.flags.writeable = False
    return indices
