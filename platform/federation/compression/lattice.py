"""bfloat16 in numpy: bit patterns as uint16, and the whole numbers that count its values from zero."""

import numpy as np
from numpy.typing import NDArray

LARGEST = 0x7F7F
"""Rank of the largest finite bfloat16."""


def patterns(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round finite float32 to bfloat16, ties to even; what is too large becomes infinite."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    odd = bits >> 16
    odd &= 1
    odd += 0x7FFF
    odd += bits
    odd >>= 16
    return odd.astype(np.uint16)


def widen(bf16: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The float32 with the same value."""
    bits = bf16.astype(np.uint32)
    bits <<= 16
    return bits.view(np.float32)


def ranks(bf16: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Count bfloat16 values from zero, upwards and downwards: neighbours differ by one. Both zeros are 0."""
    signed = bf16.astype(np.int32)
    return np.where(signed < 0x8000, signed, 0x8000 - signed)


def of_ranks(rank: NDArray[np.int32]) -> NDArray[np.uint16]:
    """The patterns with these ranks; 0 is positive zero."""
    return np.where(rank >= 0, rank, 0x8000 - rank).astype(np.uint16)


def moved(base: NDArray[np.uint16], steps: NDArray[np.int32]) -> NDArray[np.float32]:
    """What `steps` on the lattice add to `base`: bf16(new) - bf16(base), rounded to float32."""
    with np.errstate(over="ignore"):  # From one end of the range to the other: the codec refuses infinity.
        return widen(of_ranks(ranks(base) + steps)) - widen(base)
