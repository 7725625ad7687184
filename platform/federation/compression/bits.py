"""Values in k bits: a sign and a level, two scales for every group of entries."""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.compression.lattice import patterns, widen
from turncoat.platform.federation.sparse import Bits, Sparse


def quantised(update: Sparse, width: int, group: int) -> Sparse:
    """Round to the middles of 2^(width-1) equal intervals between a group's smallest and largest |value|."""
    if not update.nnz:
        empty = Bits(width, group, np.empty(0, np.uint8), np.empty((0, 2), np.uint16))
        return Sparse(update.length, update.indices, update.values, empty)
    levels = 1 << (width - 1)
    size, starts = np.abs(update.values), np.arange(0, update.nnz, group)
    low, high = np.minimum.reduceat(size, starts), np.maximum.reduceat(size, starts)
    step = (high - low) * np.float32(1 / levels)
    scales = np.stack([patterns(low + step * np.float32(0.5)), patterns(step)], axis=1)
    first, step = (np.repeat(widen(scale), group)[: update.nnz] for scale in scales.T)
    level = np.rint((size - first) / np.where(step > 0, step, 1)).clip(0, levels - 1)
    codes = (np.signbit(update.values) * levels + level).astype(np.uint8)
    coding = Bits(width, group, codes, scales)
    return Sparse(update.length, update.indices, values_of(coding), coding)


def values_of(coding: Bits) -> NDArray[np.float32]:
    """[nnz] float32: ±(first + level · step), product and sum each rounded to float32."""
    levels = 1 << (coding.width - 1)
    first, step = (np.repeat(widen(scale), coding.group)[: len(coding.codes)] for scale in coding.scales.T)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # Scales of a hostile payload: the codec looks at the result.
        size = first + (coding.codes & (levels - 1)).astype(np.float32) * step
    return np.where(coding.codes >= levels, -size, size)
