"""What an update costs, counted three ways that are never mixed."""

from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.codec.values import planes_of
from turncoat.platform.federation.sparse import Bits, Sparse, Ulp

BF16_BYTES = 2
PAPER_BYTES = 6
"""An entry as the paper counts it: two bytes of value, four of index."""


@dataclass(frozen=True)
class Cost:
    """Of one payload, or of several (they can be added).

    length: N, the entries of a dense update. entries: those sent. payload_bytes: as they travel, header
    included. bound_bytes: see `bound`.
    """

    length: int
    entries: int
    payload_bytes: int
    bound_bytes: float

    @classmethod
    def of(cls, update: Sparse, payload: bytes) -> "Cost":
        return cls(update.length, update.nnz, len(payload), bound(update))

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.length + other.length,
            self.entries + other.entries,
            self.payload_bytes + other.payload_bytes,
            self.bound_bytes + other.bound_bytes,
        )

    @property
    def count(self) -> float:
        """N / entries: the paper's ratio. Infinite where nothing was sent."""
        return count(self.length, self.entries)

    @property
    def wire(self) -> float:
        """Bytes of the dense update in bfloat16 / bytes of the payload."""
        return BF16_BYTES * self.length / self.payload_bytes

    @property
    def over_bound(self) -> float:
        """Bytes of the payload / bytes of the bound. Infinite where nothing needs to be said."""
        return self.payload_bytes / self.bound_bytes if self.bound_bytes else float("inf")


def count(length: int, entries: int) -> float:
    """N / entries."""
    return length / entries if entries else float("inf")


def paper_bytes(entries: int) -> int:
    """What the paper's figures in MB say that so many entries take."""
    return PAPER_BYTES * entries


def bound(update: Sparse) -> float:
    """Bytes: (log2 C(N, nnz) + nnz · H0(value symbols as sent)) / 8.

    No code that knows nothing of the support but its size, and codes values one by one, is shorter. Symbols
    are the steps of `ulp`, the codes of `bits`, each byte of `fp32` and `bf16`. Scales are not counted.
    """
    coding = update.coding
    if isinstance(coding, Ulp):
        entropy = _entropy(coding.steps)
    elif isinstance(coding, Bits):
        entropy = _entropy(coding.codes)
    else:
        entropy = sum(_entropy(plane) for plane in planes_of(update))
    return (log2_choose(update.length, update.nnz) + entropy) / 8


def log2_choose(n: int, k: int) -> float:
    """log2 of how many ways there are to choose k of n."""
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


def _entropy(symbols: NDArray) -> float:
    """Bits of all symbols together, at the entropy of their own frequencies."""
    if not len(symbols):
        return 0.0
    counts = np.bincount(symbols - symbols.min())
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / len(symbols))).sum())
