"""SparseLoCo's uplink: the largest entries of every chunk, in two bits."""

from math import ceil
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from turncoat.platform.federation.compression.base import Compressor, Difference, Vector
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.largest import CHUNK, largest
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import Kinded


class SparseLoCo(Compressor):
    """e ← β e + Δ; send the top k of every chunk of e in two bits; e ← e - sent.

    Source: Sarfi et al. 2025, arXiv 2508.15706. Error feedback is part of it. The quantiser is our own: the
    middles of equal intervals between the smallest and the largest magnitude of each `entries` sent.
    """

    class Settings(Kinded):
        kind: Literal["sparse_loco"] = "sparse_loco"
        chunk: int = Field(4096, ge=1, le=CHUNK)
        entries: int = Field(64, ge=1)
        """k, how many entries of a chunk are sent; of a shorter last chunk the same share, rounded up."""
        bits: int = Field(2, ge=1, le=8)

        @model_validator(mode="after")
        def chunks_hold_them(self) -> "SparseLoCo.Settings":
            if self.entries > self.chunk:
                raise ValueError(f"entries is {self.entries}; allowed is at most chunk = {self.chunk}")
            return self

    settings: Settings
    decay: ClassVar[float | None] = 0.95

    @property
    def coding(self) -> str | None:
        return "bits"

    @property
    def bits(self) -> tuple[int, int] | None:
        return self.settings.bits, self.settings.entries

    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        length, chunk = len(base), self.settings.chunk
        part = Difference(trained, base, feedback)
        whole, span = length - length % chunk, CHUNK - CHUNK % chunk
        found = [
            self._rows(part(start, min(start + span, whole)).reshape(-1, chunk)) + start
            for start in range(0, whole, span)
        ]
        if rest := length - whole:
            found.append(largest(part(whole, length), ceil(self.settings.entries * rest / chunk)) + whole)
        indices = np.concatenate(found)
        values = feedback.residual[indices] if feedback is not None else trained[indices] - base[indices]
        live = np.flatnonzero(values)
        return Sparse(length, indices[live], values[live])

    def _rows(self, rows: Vector) -> np.ndarray:
        """Flat places of each row's largest entries, ascending. rows: [n, chunk]."""
        size, count = np.abs(rows), min(self.settings.entries, rows.shape[1])
        bound = np.partition(size, -count, axis=1)[:, [-count]]
        above, ties = size > bound, size == bound
        wanted = count - above.sum(axis=1, keepdims=True)
        return np.flatnonzero(above | (ties & (np.cumsum(ties, axis=1) <= wanted)))

    def rounded(self, update: Sparse) -> Sparse:
        return quantised(update, self.settings.bits, self.settings.entries)
