"""An update as it travels: which entries of the vector it names, and what the receiver will read there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fp32:
    """Values travel as they are."""


@dataclass(frozen=True)
class Bf16:
    """Values travel as bfloat16; they are multiples of it already."""


@dataclass(frozen=True, eq=False)
class Ulp:
    """Values travel as steps on the bfloat16 lattice of the base.

    steps: [nnz] int32, how many bfloat16 numbers the new weight lies above the base's, both rounded to it.
    """

    steps: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Bits:
    """Values travel in a few bits each: a sign above `width` - 1 bits of magnitude.

    Every `group` entries in a row share two scales. codes: [nnz] uint8, below 2^width. scales: [groups, 2]
    uint16, bfloat16 patterns of a group's smallest level and of the step between levels.
    """

    width: int
    group: int
    codes: NDArray[np.uint8]
    scales: NDArray[np.uint16]


Coding = Fp32 | Bf16 | Ulp | Bits


@dataclass(frozen=True, eq=False)
class Sparse:
    """An update to a vector of `length` N.

    indices: [nnz] int64, strictly ascending. values: [nnz] float32, what the receiver will decode.
    coding: how the values travel. absolute: the values are new weights; else they are added to the base's.
    """

    length: int
    indices: NDArray[np.int64]
    values: NDArray[np.float32]
    coding: Coding = Fp32()
    absolute: bool = False

    @property
    def nnz(self) -> int:
        return len(self.indices)

    @property
    def density(self) -> float:
        """nnz / N."""
        return self.nnz / self.length

    @property
    def where(self) -> NDArray[np.int64] | slice:
        """What to index a vector of length N with: `vector[update.where] += weight * update.values`.

        A slice if every entry is named: no gather, no scatter.
        """
        return slice(None) if self.nnz == self.length else self.indices

    def dense(self) -> NDArray[np.float32]:
        """[N] float32, zero where the update names nothing."""
        vector = np.zeros(self.length, np.float32)
        vector[self.where] = self.values
        return vector

    def at(self, positions: NDArray[np.int64]) -> "Sparse":
        """The entries at these places in `indices`, ascending. Not for `Bits`: its scales span entries."""
        if isinstance(self.coding, Bits):
            raise TypeError("an update whose values are already in groups of k bits cannot be cut")
        coding = Ulp(self.coding.steps[positions]) if isinstance(self.coding, Ulp) else self.coding
        return Sparse(self.length, self.indices[positions], self.values[positions], coding, self.absolute)
