"""An update as bytes on the wire, and back. docs/wire-format.md specifies every byte."""

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.federation.codec import header as headers
from turncoat.platform.federation.codec.errors import PayloadError
from turncoat.platform.federation.codec.header import Expected, Header
from turncoat.platform.federation.codec.integers import best_shift, join, split
from turncoat.platform.federation.codec.streams import pack, unpack
from turncoat.platform.federation.codec.values import name_of, read_values, sections_of
from turncoat.platform.federation.compression.dense import every
from turncoat.platform.federation.sparse import Bits, Sparse


def encode(update: Sparse, base_sha256: bytes, stage: str = "rans") -> bytes:
    """The payload. base_sha256: 32 bytes, the version that it is to be applied to. stage: `rans` or `zstd`.

    Raises ValueError if the indices are not ascending or not below N, or a value is not finite.
    """
    if update.length > headers.MAX_LENGTH:
        raise ValueError(f"an update has {update.length} entries; allowed are at most {headers.MAX_LENGTH}")
    if not np.isfinite(update.values).all():
        raise ValueError("an update holds NaN or infinity; allowed are finite values")
    index, index_shift = _index_sections(update, stage)
    value, value_shift = sections_of(update, stage)
    coding = update.coding
    header = Header(
        name_of(coding),
        stage,
        update.length,
        update.nnz,
        base_sha256,
        tuple(len(section) for section in index + value),
        index_shift,
        value_shift,
        coding.width if isinstance(coding, Bits) else 0,
        coding.group if isinstance(coding, Bits) else 0,
        update.absolute,
    )
    return header.write(b"".join(index + value))


def decode(payload: bytes, expected: Expected, base: NDArray[np.float32] | None = None) -> Sparse:
    """The update. base: [N] float32, the version named by `expected.base_sha256`; only `ulp` reads it.

    Raises PayloadError for what is not exactly as agreed. Time and room are bounded by `expected.granted`.
    """
    view = memoryview(payload)
    header = headers.read(view, expected)
    sections, start = [], headers.SIZE
    for size in header.sections:
        sections.append(view[start : start + size])
        start += size
    indices = _read_indices(header, sections[:2])
    update = Sparse(header.length, indices, np.empty(0, np.float32))
    old = base[update.where] if base is not None and header.coding == "ulp" else None
    values, coding = read_values(header, sections[2:], old)
    return Sparse(header.length, indices, values, coding, header.absolute)


def _index_sections(update: Sparse, stage: str) -> tuple[list[bytes], int]:
    """Each index as the distance from the one before, less one. Nothing where every entry is named."""
    indices, wrong = (
        update.indices,
        f"indices are not ascending; allowed are 0 to {update.length - 1}, each once",
    )
    if update.nnz == update.length:
        whole = every(update.length)
        if indices is not whole and not np.array_equal(indices, whole):
            raise ValueError(wrong)
        return [b"", b""], 0
    gaps = np.diff(indices, prepend=-1) - 1
    if len(gaps) and (gaps.min() < 0 or indices[-1] >= update.length):
        raise ValueError(wrong)
    shift = best_shift(gaps)
    symbols, raw = split(gaps, shift)
    return [pack(symbols, stage), raw], shift


def _read_indices(header: Header, sections: list[memoryview]) -> NDArray[np.int64]:
    if header.nnz == header.length:
        if len(sections[0]) or len(sections[1]):
            raise PayloadError("payload: indices are sent though every entry is; allowed are none")
        return every(header.length)
    indices = join(unpack(sections[0], header.nnz, header.stage), sections[1], header.index_shift)
    indices += 1
    # In floating point first: the sum of hostile distances may not fit an integer.
    if np.sum(indices, dtype=np.float64) > header.length:
        raise PayloadError(f"payload: an index is too large; allowed is below {header.length}")
    np.cumsum(indices, out=indices)
    indices -= 1
    return indices
