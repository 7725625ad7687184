"""The fixed 120 bytes in front of every payload."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from struct import Struct

from turncoat.platform.federation.codec.errors import PayloadError

MAGIC = b"TCFU"
VERSION = 1
CODINGS = ("fp32", "bf16", "ulp", "bits")
STAGES = ("zstd", "rans")
SECTIONS = {"fp32": 6, "bf16": 4, "ulp": 4, "bits": 4}
"""How many of the six sections a coding uses, the two of the indices included."""
MAX_SHIFT = 20
MAX_LENGTH = 1 << 39
MAX_GROUP = 1 << 20
LAYOUT = Struct("<4s8BI2Q32s6I")
SIZE = LAYOUT.size + 32


@dataclass(frozen=True)
class Expected:
    """What the receiver knows before a payload arrives.

    length: N. granted: the most entries that it may hold. base_sha256: 32 bytes, the version that the update
    is to be applied to. absolute: whether new weights are expected instead of differences. codings: what
    values may travel as. bits: (bits of a value, entries that share two scales) that were agreed on, if any.
    """

    length: int
    granted: int
    base_sha256: bytes
    absolute: bool = False
    codings: Collection[str] = CODINGS
    bits: tuple[int, int] | None = None

    @property
    def most_bytes(self) -> int:
        """No payload that this receiver takes is longer; refuse to receive more."""
        return 8192 + 16 * min(self.granted, self.length)


@dataclass(frozen=True)
class Header:
    """What stands in it. coding: one of CODINGS. stage: one of STAGES. sections: lengths in bytes."""

    coding: str
    stage: str
    length: int
    nnz: int
    base_sha256: bytes
    sections: tuple[int, ...]
    index_shift: int = 0
    value_shift: int = 0
    width: int = 0
    group: int = 0
    absolute: bool = False

    def write(self, body: bytes) -> bytes:
        """Header and body, with the checksum between them."""
        start = LAYOUT.pack(
            MAGIC,
            VERSION,
            int(self.absolute),
            CODINGS.index(self.coding),
            self.width,
            STAGES.index(self.stage),
            self.index_shift,
            self.value_shift,
            0,
            self.group,
            self.length,
            self.nnz,
            self.base_sha256,
            *self.sections,
            *[0] * (6 - len(self.sections)),
        )
        return b"".join([start, checksum(start, body), body])


def checksum(start: bytes | memoryview, body: bytes | memoryview) -> bytes:
    """SHA-256 over the header before the checksum and the body after it."""
    digest = hashlib.sha256(start)
    digest.update(body)
    return digest.digest()


def read(payload: memoryview, expected: Expected) -> Header:
    """The header, every field looked at and the checksum too. Raises PayloadError."""
    _require(len(payload) >= SIZE, "length", f"{len(payload)} bytes", f"at least the header's {SIZE}")
    _require(
        len(payload) <= expected.most_bytes,
        "length",
        f"{len(payload)} bytes",
        f"at most {expected.most_bytes} for {expected.granted} entries",
    )
    start, body = payload[: LAYOUT.size], payload[SIZE:]
    magic, version, flags, coding, width, stage, index_shift, value_shift, zero, group, *rest = LAYOUT.unpack(
        start
    )
    length, nnz, base, *sections = rest
    _require(magic == MAGIC, "magic", repr(magic), repr(MAGIC))
    _require(version == VERSION, "version", version, VERSION)
    _require(flags == int(expected.absolute), "flags", flags, int(expected.absolute))
    _require(coding < len(CODINGS), "coding", coding, f"below {len(CODINGS)}")
    name = CODINGS[coding]
    _require(name in expected.codings, "coding", name, ", ".join(expected.codings))
    _require(name in ("fp32", "bf16") or not flags, "coding", f"{name} of new weights", "fp32, bf16")
    _require(stage < len(STAGES), "entropy stage", stage, f"below {len(STAGES)}")
    _require(max(index_shift, value_shift) <= MAX_SHIFT, "shift", max(index_shift, value_shift), "at most 20")
    _require(zero == 0, "reserved byte", zero, 0)
    if name == "bits":
        _require(1 <= width <= 8, "bits of a value", width, "1 to 8")
        _require(1 <= group <= MAX_GROUP, "group", group, f"1 to {MAX_GROUP}")
        agreed = expected.bits or (width, group)
        _require((width, group) == agreed, "(bits, group)", (width, group), agreed)
    else:
        _require(width == group == 0, "bits and group", f"{width} and {group}", f"0 and 0 for {name}")
    _require(length == expected.length, "N", length, expected.length)
    _require(nnz <= min(expected.granted, length), "entries", nnz, f"at most the {expected.granted} granted")
    _require(base == expected.base_sha256, "base version", base.hex(), expected.base_sha256.hex())
    used = sections[: SECTIONS[name]]
    _require(not any(sections[len(used) :]), "unused sections", sections[len(used) :], "empty")
    _require(sum(used) == len(body), "sections", f"{sum(used)} bytes", f"{len(body)}, as many as follow")
    _require(payload[LAYOUT.size : SIZE] == checksum(start, body), "checksum", "another", "the body's")
    return Header(
        name,
        STAGES[stage],
        length,
        nnz,
        base,
        tuple(used),
        index_shift,
        value_shift,
        width,
        group,
        bool(flags),
    )


def _require(holds: bool, field: str, found: object, allowed: object) -> None:
    if not holds:
        raise PayloadError(f"payload: {field} is {found}; allowed is {allowed}")
