"""Whole numbers as symbols below 256 and raw bits: what is frequent gets a symbol of its own.

A number v is shifted right by `shift`. Quotients below 128 are their own symbol. A larger one of n bits has
the symbol 128 + 4 (n - 8) + (the two bits after its leading 1). Whatever bits of v the symbol does not tell
follow raw, bit plane by bit plane.
"""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.codec.errors import PayloadError
from turncoat.platform.federation.codec.header import MAX_SHIFT

DIRECT = 128
SAMPLE = 1 << 16


def split(numbers: NDArray[np.int64], shift: int) -> tuple[NDArray[np.uint8], bytes]:
    """numbers: [n], 0 ≤ v < 2^(39 + shift). Symbols [n], and the raw bits."""
    quotients = numbers >> shift if shift else numbers
    symbols = quotients.astype(np.uint8)
    large = np.flatnonzero(quotients >= DIRECT)
    width = bit_length(quotients[large])
    symbols[large] = DIRECT + 4 * (width - 8) + (quotients[large] >> (width - 3) & 3)
    planes = [
        np.packbits((numbers >> plane & 1).astype(np.uint8), bitorder="little") for plane in range(shift)
    ]
    plane, rest, raw = shift, numbers[large], width - 3 + shift
    while len(rest):
        planes.append(np.packbits((rest >> plane & 1).astype(np.uint8), bitorder="little"))
        plane += 1
        rest, raw = rest[raw > plane], raw[raw > plane]
    return symbols, b"".join(part.tobytes() for part in planes)


def join(symbols: NDArray[np.uint8], data: memoryview, shift: int) -> NDArray[np.int64]:
    """[n] int64: the inverse of `split`. Raises PayloadError if `data` is not as long as the symbols say."""
    numbers = symbols.astype(np.int64)
    large = np.flatnonzero(symbols >= DIRECT)
    code = numbers[large] - DIRECT
    raw = (code >> 2) + 5
    numbers[large] = (4 | code & 3) << raw
    numbers <<= shift
    raw += shift
    # How many numbers have a bit in each plane.
    longest = int(raw.max(initial=shift))
    deep = np.bincount(raw, minlength=longest + 1)[::-1].cumsum()[::-1] if len(raw) else np.zeros(1, np.int64)
    members = [len(numbers) if plane < shift else int(deep[plane + 1]) for plane in range(longest)]
    wanted = sum((count + 7) // 8 for count in members)
    if len(data) != wanted:
        raise PayloadError(f"payload: raw bits are {len(data)} bytes; allowed is {wanted}")
    used, where = 0, large
    for plane, count in enumerate(members):
        size = (count + 7) // 8
        bits = np.frombuffer(data[used : used + size], np.uint8)
        bit = np.unpackbits(bits, count=count, bitorder="little").astype(np.int64) << plane
        used += size
        if plane < shift:
            numbers |= bit
        else:
            where, raw = where[raw > plane], raw[raw > plane]
            numbers[where] |= bit
    return numbers


def bit_length(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of positive numbers below 2^53."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)


def best_shift(numbers: NDArray[np.int64]) -> int:
    """The shift that should take the fewest bytes, judged by at most 65,536 numbers spread over all."""
    if not len(numbers):
        return 0
    sample = numbers[:: (len(numbers) - 1) // SAMPLE + 1]
    costs = [
        _cost(sample, shift, len(numbers))
        for shift in range(min(int(sample.max()).bit_length(), MAX_SHIFT) + 1)
    ]
    return int(np.argmin(costs))


def _cost(sample: NDArray[np.int64], shift: int, count: int) -> float:
    """Bits of `count` numbers like these: symbols at their entropy, raw bits, the table of frequencies."""
    symbols, raw = split(sample, shift)
    counts = np.bincount(symbols)
    counts = counts[counts > 0]
    bits = -(counts * np.log2(counts / len(sample))).sum() + 8 * len(raw)
    return bits * count / len(sample) + 12 * len(counts)
