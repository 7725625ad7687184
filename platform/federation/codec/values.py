"""Values as sections of a payload, and back."""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.codec.errors import PayloadError
from turncoat.platform.federation.codec.header import Header
from turncoat.platform.federation.codec.integers import best_shift, join, split
from turncoat.platform.federation.codec.streams import pack, unpack
from turncoat.platform.federation.compression.bits import values_of
from turncoat.platform.federation.compression.lattice import LARGEST, moved, patterns, ranks
from turncoat.platform.federation.sparse import Bf16, Bits, Coding, Fp32, Sparse, Ulp

Values = tuple[NDArray[np.float32], Coding]


def name_of(coding: Coding) -> str:
    """What the header calls it."""
    return type(coding).__name__.lower()


def sections_of(update: Sparse, stage: str) -> tuple[list[bytes], int]:
    """The sections of the values, and the shift of their whole numbers (0 where there are none)."""
    coding = update.coding
    if isinstance(coding, Ulp):
        # Signed to unsigned: 0, -1, 1, -2, 2, ...
        steps = coding.steps.astype(np.int64)
        numbers = (steps << 1) ^ (steps >> 63)
        shift = best_shift(numbers)
        symbols, raw = split(numbers, shift)
        return [pack(symbols, stage), raw], shift
    if isinstance(coding, Bits):
        return [pack(coding.codes, stage), coding.scales.astype("<u2").tobytes()], 0
    if isinstance(coding, Bf16) and (update.values.view(np.uint32) & 0xFFFF).any():
        raise ValueError("values are no multiples of bfloat16; allowed in the coding bf16 are rounded ones")
    return [pack(plane, stage) for plane in planes_of(update)], 0


def planes_of(update: Sparse) -> list[NDArray[np.uint8]]:
    """The bytes of fp32 or bf16 values, least significant first: each place of all values is one run."""
    places = update.values.astype("<f4").view(np.uint8).reshape(-1, 4)
    return [np.ascontiguousarray(places[:, i]) for i in range(2 if isinstance(update.coding, Bf16) else 0, 4)]


def read_values(
    header: Header, sections: list[memoryview], base: NDArray[np.float32] | None
) -> tuple[NDArray[np.float32], Coding]:
    """[nnz] finite float32. base: [nnz], the base's entries, for `ulp`. Raises PayloadError."""
    if header.coding == "ulp":
        values, coding = _read_ulp(header, sections, base)
    elif header.coding == "bits":
        values, coding = _read_bits(header, sections)
    else:
        places = np.zeros((header.nnz, 4), np.uint8)
        for i, section in enumerate(sections, 4 - len(sections)):
            places[:, i] = unpack(section, header.nnz, header.stage)
        values = places.reshape(-1).view("<f4").astype(np.float32, copy=False)
        coding = Fp32() if header.coding == "fp32" else Bf16()
    if not np.isfinite(values).all():
        raise PayloadError("payload: values hold NaN or infinity; allowed are finite ones")
    return values, coding


def _read_ulp(header: Header, sections: list[memoryview], base: NDArray[np.float32] | None) -> Values:
    if base is None:
        raise ValueError("values in ulps need the base that they are counted from")
    numbers = join(unpack(sections[0], header.nnz, header.stage), sections[1], header.value_shift)
    steps = (numbers >> 1) ^ -(numbers & 1)
    old = patterns(base)
    if len(steps) and np.abs(steps + ranks(old)).max() > LARGEST:
        raise PayloadError("payload: values step out of bfloat16's range; allowed are finite ones")
    coding = Ulp(steps.astype(np.int32))
    return moved(old, coding.steps), coding


def _read_bits(header: Header, sections: list[memoryview]) -> Values:
    groups = -(-header.nnz // header.group)
    if len(sections[1]) != 4 * groups:
        raise PayloadError(f"payload: scales are {len(sections[1])} bytes; allowed is {4 * groups}")
    codes = unpack(sections[0], header.nnz, header.stage)
    if codes.max(initial=0) >> header.width:
        raise PayloadError(f"payload: a value's code is {codes.max()}; allowed is below {1 << header.width}")
    scales = np.frombuffer(sections[1], "<u2").astype(np.uint16).reshape(-1, 2)
    if scales.max(initial=0) > LARGEST:
        raise PayloadError("payload: a scale is negative, NaN or infinite; allowed are finite ones from 0")
    coding = Bits(header.width, header.group, codes, scales)
    return values_of(coding), coding
