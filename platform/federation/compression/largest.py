"""The k entries of largest magnitude, ties to the lower index, without a copy of the whole vector."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 17
"""Entries that are worked on at a time: half a megabyte of float32, which stays in the cache."""


def largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """[min(count, n)] int64, ascending: places of the largest |values|. No NaN."""
    if count >= len(values):
        return np.arange(len(values))
    if count == 0:
        return np.empty(0, np.int64)
    size = np.abs(values)
    bound = np.partition(size, len(size) - count)[len(size) - count]
    return _take(size, bound, count - int(np.count_nonzero(size > bound)))


def largest_of(
    part: Callable[[int, int], NDArray[np.float32]], length: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The same for a vector that is read in parts, zeros left out: indices and values.

    part: (start, stop) -> float32 of these entries. The bound is found by counting: magnitudes of float32
    are ordered as their bits are, so first the upper half of the bits is counted, then the lower half of
    those that have the upper half in question.
    """
    upper = np.zeros(1 << 15, np.int64)
    for bits in _bits(part, length):
        upper += np.bincount(bits >> 16, minlength=1 << 15)
    high, above = _place(upper, count)
    lower = np.zeros(1 << 16, np.int64)
    for bits in _bits(part, length):
        lower += np.bincount(bits[bits >> 16 == high] & 0xFFFF, minlength=1 << 16)
    low, more = _place(lower, count - above)
    bound = np.uint32(high << 16 | low).view(np.float32)
    left = count - above - more
    indices, values = [], []
    for start in range(0, length, CHUNK):
        chunk = part(start, min(start + CHUNK, length))
        size = np.abs(chunk)
        places = _take(size, bound, left)
        left -= int(np.count_nonzero(size[places] == bound))
        places = places[size[places] > 0]
        indices.append(places + start)
        values.append(chunk[places])
    return np.concatenate(indices), np.concatenate(values)


def _bits(part: Callable[[int, int], NDArray[np.float32]], length: int):
    for start in range(0, length, CHUNK):
        yield np.abs(part(start, min(start + CHUNK, length))).view(np.uint32)


def _place(counts: NDArray[np.int64], wanted: int) -> tuple[int, int]:
    """Where the `wanted`th largest falls, and how many lie above that place."""
    above = np.cumsum(counts[::-1])
    place = min(int(np.searchsorted(above, wanted)), len(counts) - 1)
    return len(counts) - 1 - place, int(above[place] - counts[::-1][place])


def _take(size: NDArray[np.float32], bound: np.float32, ties: int) -> NDArray[np.int64]:
    """Places above the bound, and the first `ties` of those that equal it."""
    chosen = size > bound
    chosen[np.flatnonzero(size == bound)[: max(ties, 0)]] = True
    return np.flatnonzero(chosen)
