"""The natural support: send what changed in bfloat16, without loss."""

from typing import Literal

import numpy as np

from turncoat.platform.federation.compression.base import Compressor, Vector, finite
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.largest import CHUNK
from turncoat.platform.federation.compression.lattice import LARGEST, moved, patterns, ranks, widen
from turncoat.platform.federation.sparse import Sparse, Ulp
from turncoat.platform.registry import Kinded


class Natural(Compressor):
    """Send the entries whose bfloat16 value changed, as steps on the lattice of bfloat16.

    Steps of reinforcement learning are mostly smaller than a bfloat16 ulp, so few entries change. Δ is
    bf16(trained) - bf16(base). With error feedback Δ is the difference in float32, and the new value is
    bf16(base) + s rounded to bfloat16: what is sent lies on the lattice, and steps too small to show add up
    until they do. Source: the sparse communication of Fed-GRPO (arXiv 2610.11502) as the documentation
    reconstructs it.
    """

    class Settings(Kinded):
        kind: Literal["natural"] = "natural"

    @property
    def coding(self) -> str | None:
        return "ulp"

    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        indices, olds, news = [], [], []
        for start in range(0, len(base), CHUNK):
            chunk = trained[start : start + CHUNK]
            finite(chunk)
            old, new = patterns(base[start : start + CHUNK]), patterns(chunk)
            if feedback is not None:
                owed = feedback.add(start, chunk - base[start : start + CHUNK])
                finite(owed)
                new = patterns(widen(old) + owed)
            places = np.flatnonzero(old != new)
            indices.append(places + start)
            olds.append(old[places])
            news.append(new[places])
        old, new = np.concatenate(olds), np.concatenate(news)
        rank = ranks(new)
        if (np.abs(rank) > LARGEST).any():
            raise ValueError(
                "local training left weights that are infinite in bfloat16; allowed are finite ones"
            )
        steps = rank - ranks(old)
        update = Sparse(len(base), np.concatenate(indices), moved(old, steps), Ulp(steps))
        # From one zero to the other the bits change and the value does not.
        return update if steps.all() else update.at(np.flatnonzero(steps))
