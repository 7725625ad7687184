"""Interleaved rANS in numpy: as many coders as fill a vector take the symbols in turns.

Source: Duda 2013, arXiv 1311.2540; interleaving as in Giesen 2014, arXiv 1402.3392. Ours are 32-bit states
with 16-bit words and frequencies in 4096ths.
"""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.codec.errors import PayloadError

PRECISION = 12
TOTAL = 1 << PRECISION
LOWEST = 1 << 16
"""The smallest state between symbols, and the state before the first."""


def lanes_of(count: int) -> int:
    """How many coders `count` symbols are dealt to: a power of two, at least 1024 symbols each, at most 4096.

    The format fixes it: a sender who chose one coder for millions of symbols could keep a receiver busy.
    """
    return 1 << min(max(count.bit_length() - 11, 0), 12)


def encode(symbols: NDArray[np.uint8], frequencies: NDArray[np.int64]) -> bytes:
    """symbols: [n], n > 0. frequencies: [256], sum 4096, none 4096, positive where a symbol occurs."""
    count = len(symbols)
    lanes = lanes_of(count)
    frequency = frequencies.astype(np.uint32)
    first = (np.cumsum(frequencies) - frequencies).astype(np.uint32)
    bound = frequency << (32 - PRECISION)
    state, rows = np.full(lanes, LOWEST, np.uint32), []
    # Backwards, since a decoder undoes the last step first.
    for start in range((count - 1) // lanes * lanes, -1, -lanes):
        symbol = symbols[start : start + lanes].astype(np.intp)
        part = state[: len(symbol)]
        full = np.flatnonzero(part >= bound[symbol])
        high = part[full]
        rows.append(high.astype("<u2"))
        part[full] = high >> 16
        share = frequency[symbol]
        part += part // share * (TOTAL - share) + first[symbol]
    return b"".join([state.astype("<u4").tobytes(), *(row.tobytes() for row in reversed(rows))])


def decode(data: memoryview, count: int, frequencies: NDArray[np.int64]) -> NDArray[np.uint8]:
    """[count] symbols. Raises PayloadError if `data` is not exactly what an encoder leaves."""
    lanes = lanes_of(count)
    if len(data) < 4 * lanes or len(data) % 2:
        raise PayloadError(
            f"payload: coded symbols are {len(data)} bytes; allowed is an even number from {4 * lanes}"
        )
    state = np.frombuffer(data[: 4 * lanes], "<u4").astype(np.int64)
    words = np.frombuffer(data[4 * lanes :], "<u2").astype(np.int64)
    symbol_at = np.repeat(np.arange(256, dtype=np.uint8), frequencies)
    share_at = np.repeat(frequencies, frequencies)
    place_at = np.arange(TOTAL) - np.repeat(np.cumsum(frequencies) - frequencies, frequencies)
    symbols, used = np.empty(count, np.uint8), 0
    for start in range(0, count, lanes):
        part = state[: count - start]
        slot = part & (TOTAL - 1)
        symbols[start : start + lanes] = symbol_at[slot]
        part >>= PRECISION
        part *= share_at[slot]
        part += place_at[slot]
        empty = np.flatnonzero(part < LOWEST)
        taken = words[used : used + len(empty)]
        if len(taken) < len(empty):
            raise PayloadError(f"payload: coded symbols end after {start} of {count}")
        part[empty] = part[empty] << 16 | taken
        used += len(empty)
    if used != len(words) or (state != LOWEST).any():
        raise PayloadError("payload: coded symbols do not end where they should")
    return symbols


def bits_of(counts: NDArray[np.int64], frequencies: NDArray[np.int64]) -> float:
    """What so many symbols take at these frequencies, states left out."""
    live = counts > 0
    return float((counts[live] * (PRECISION - np.log2(frequencies[live]))).sum())


def frequencies_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """[256] counts scaled to sum to 4096, at least 1 for what occurs. At least two different symbols."""
    exact = counts * (TOTAL / counts.sum())
    scaled = np.maximum(exact.astype(np.int64), counts > 0)
    missing = TOTAL - int(scaled.sum())
    if missing > 0:
        scaled[np.argsort(scaled - exact, kind="stable")[:missing]] += 1
    while missing < 0:
        most = int(np.argmax(scaled))
        taken = min(-missing, (int(scaled[most]) + 15) // 16)
        scaled[most] -= taken
        missing += taken
    return scaled
