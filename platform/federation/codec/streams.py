"""A run of symbols below 256 as bytes: through the entropy stage that the header names."""

import numpy as np
import zstandard
from numpy.typing import NDArray

from turncoat.platform.federation.codec import rans
from turncoat.platform.federation.codec.errors import PayloadError

LEVEL = 3
NO_GAIN = 0.99
"""A run that coding would shrink to no less than this is stored: lower bytes of float32 are all but noise."""
STORED, CONSTANT, CODED = 0, 1, 2
"""First byte of a run in the stage `rans`. Then: the symbols; one for all; frequencies and coded symbols."""


def pack(symbols: NDArray[np.uint8], stage: str) -> bytes:
    """symbols: [n]. No symbols are no bytes. The inverse is `unpack`."""
    if not len(symbols):
        return b""
    if stage == "zstd":
        return zstandard.ZstdCompressor(level=LEVEL).compress(symbols.tobytes())
    counts = np.bincount(symbols, minlength=256)
    if counts[symbols[0]] == len(symbols):
        return bytes([CONSTANT, symbols[0]])
    frequencies = rans.frequencies_of(counts)
    if 8 * NO_GAIN * len(symbols) < rans.bits_of(counts, frequencies):
        return bytes([STORED]) + symbols.tobytes()
    coded = bytes([CODED]) + _pack_frequencies(frequencies) + rans.encode(symbols, frequencies)
    return coded if len(coded) <= len(symbols) else bytes([STORED]) + symbols.tobytes()


def unpack(data: memoryview, count: int, stage: str) -> NDArray[np.uint8]:
    """[count] uint8. Raises PayloadError; takes room for `count` symbols, whatever `data` says."""
    if not count:
        if len(data):
            raise PayloadError(f"payload: a run of no symbols is {len(data)} bytes; allowed is 0")
        return np.empty(0, np.uint8)
    if stage == "zstd":
        return _unpack_zstd(data, count)
    kind, rest = (data[0], data[1:]) if len(data) else (None, data)
    if kind == STORED and len(rest) == count:
        return np.frombuffer(rest, np.uint8)
    if kind == CONSTANT and len(rest) == 1:
        return np.full(count, rest[0], np.uint8)
    if kind == CODED:
        frequencies, used = _unpack_frequencies(rest)
        return rans.decode(rest[used:], count, frequencies)
    raise PayloadError(f"payload: a run of {count} symbols begins with {kind} and is {len(data)} bytes")


def _unpack_zstd(data: memoryview, count: int) -> NDArray[np.uint8]:
    try:
        frame = zstandard.get_frame_parameters(data)
        # Both are what the library would take room for.
        if frame.content_size != count or frame.window_size > max(2 * count, 1024) or frame.dict_id:
            raise PayloadError(
                f"payload: a zstd frame of {frame.content_size} bytes, window {frame.window_size}; "
                f"allowed is {count}, no dictionary"
            )
        plain = zstandard.ZstdDecompressor().decompress(
            data, max_output_size=count, read_across_frames=False, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise PayloadError(f"payload: not a zstd frame: {error}") from error
    if len(plain) != count:
        raise PayloadError(f"payload: a zstd frame held {len(plain)} bytes; allowed is {count}")
    return np.frombuffer(plain, np.uint8)


def _pack_frequencies(frequencies: NDArray[np.int64]) -> bytes:
    """The largest symbol, then the frequencies up to it: one byte or two; after a 0, how many more 0s."""
    top = int(np.flatnonzero(frequencies)[-1])
    packed, zeros = bytearray([top]), 0
    for frequency in frequencies[: top + 1].tolist():
        if frequency == 0:
            zeros += 1
            continue
        if zeros:
            packed += bytes([0, zeros - 1])
            zeros = 0
        packed += bytes([frequency]) if frequency < 128 else bytes([128 | frequency & 127, frequency >> 7])
    return bytes(packed)


def _unpack_frequencies(data: memoryview) -> tuple[NDArray[np.int64], int]:
    """[256] frequencies, and the bytes that they took. Raises PayloadError."""
    frequencies = np.zeros(256, np.int64)
    symbol, used = 0, 1
    top = data[0] if len(data) else 0
    while symbol <= top and used < len(data):
        byte = data[used]
        used += 1
        if 0 < byte < 128:
            frequencies[symbol] = byte
            symbol += 1
        elif used < len(data):
            if byte:
                frequencies[symbol] = byte & 127 | data[used] << 7
            symbol += 1 if byte else 1 + data[used]
            used += 1
    # One symbol with all of it would overflow a state; it has a form of its own.
    if symbol != top + 1 or frequencies.sum() != rans.TOTAL or frequencies.max() == rans.TOTAL:
        raise PayloadError(f"payload: frequencies of symbols add up to {frequencies.sum()}; allowed is 4096")
    return frequencies, used
