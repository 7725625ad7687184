"""A payload comes from anyone: it must not crash, stall or fill a server, and is told what is wrong."""

import hashlib
import random
import struct
import time
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import zstandard

from turncoat.platform.federation.codec.errors import PayloadError
from turncoat.platform.federation.codec.header import LAYOUT, SIZE, Expected, Header, checksum
from turncoat.platform.federation.codec.wire import decode, encode
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.dense import in_bf16
from turncoat.platform.federation.compression.natural import Natural
from turncoat.platform.federation.sparse import Sparse

VERSION = hashlib.sha256(b"base").digest()
LENGTH, GRANTED = 2000, 60
EXPECTED = Expected(LENGTH, GRANTED, VERSION)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(0, 0.02, LENGTH).astype(np.float32)


def updates() -> list[Sparse]:
    trained = WEIGHTS + RNG.normal(0, 1e-3, LENGTH).astype(np.float32)
    indices = np.sort(RNG.choice(LENGTH, GRANTED, replace=False))
    plain = Sparse(LENGTH, indices, RNG.normal(0, 1, GRANTED).astype(np.float32))
    natural = Natural(Natural.Settings()).compress(trained, WEIGHTS, GRANTED)
    return [plain, in_bf16(plain), quantised(plain, 3, 16), natural]


UPDATES = updates()
PAYLOADS = [encode(update, VERSION, stage) for update in UPDATES for stage in ("rans", "zstd")]


def signed(payload: bytes) -> bytes:
    """With the lengths and the checksum that fit: an attacker can compute them too."""
    start, body = bytearray(payload[: LAYOUT.size]), payload[SIZE:]
    sizes = list(struct.unpack_from("<6I", start, 64))
    if (missing := len(body) - sum(sizes)) >= -max(sizes):
        sizes[sizes.index(max(sizes))] += missing
        struct.pack_into("<6I", start, 64, *[size % (1 << 32) for size in sizes])
    return bytes(start) + checksum(start, body) + body


def mutated(payload: bytes, draw: random.Random) -> bytes:
    data = bytearray(payload)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(len(data)) if draw.random() < 0.7 else draw.randrange(min(120, len(data)))
        match draw.randrange(7):
            case 0:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                data[at] = draw.choice([0, 1, 127, 128, 255])
            case 2:
                del data[at : at + draw.choice([1, 2, 4, 50])]
            case 3:
                data[at:at] = draw.randbytes(draw.choice([1, 2, 8, 100]))
            case 4:
                data[at : at + 4] = draw.choice([b"\0" * 4, b"\xff" * 4, b"\0\0\xc0\x7f"])
            case 5:
                other = draw.choice(PAYLOADS)
                data[at:] = other[at:]
            case _:
                data[at : at + 8] = struct.pack("<Q", draw.choice([0, 1, 1 << 31, 1 << 39, (1 << 64) - 1]))
        if not data:
            break
    return bytes(data)


def test_ten_thousand_mutants():
    """Half with a checksum that fits. Each is refused in one line, or is an update within the grant."""
    draw = random.Random(0)
    taken, slowest, refusals = 0, 0.0, []
    for number in range(10_000):
        original = draw.choice(PAYLOADS)
        payload = mutated(original, draw)
        if number % 2 and len(payload) >= SIZE:
            payload = signed(payload)
        began = time.process_time()
        try:
            update = decode(payload, EXPECTED, WEIGHTS)
        except PayloadError as error:
            refusals.append(str(error))
        else:
            taken += 1
            assert number % 2 or payload in PAYLOADS
            assert update.length == LENGTH
            assert update.nnz <= GRANTED
            assert len(update.values) == update.nnz
            assert np.isfinite(update.values).all()
            assert (np.diff(update.indices, prepend=-1) > 0).all()
            assert update.indices.max(initial=0) < LENGTH
        slowest = max(slowest, time.process_time() - began)
    assert all(len(text.splitlines()) == 1 and len(text) < 300 for text in refusals)
    assert slowest < 1
    # Some change a value and nothing else: if none did, the fuzzer never got past the checks.
    assert taken > 100


def test_mutants_take_no_room():
    """What is taken is bounded by the grant, not by what a payload claims."""
    draw = random.Random(1)
    tracemalloc.start()
    for _ in range(1000):
        payload = mutated(draw.choice(PAYLOADS), draw)
        with suppress(PayloadError):
            decode(signed(payload) if len(payload) >= SIZE else payload, EXPECTED, WEIGHTS)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


FIELDS = ["magic", "version", "flags", "coding", "width", "stage", "index_shift", "value_shift", "zero"]
FIELDS += ["group", "length", "nnz", "base"]


def crafted(payload: bytes, **fields) -> bytes:
    """With these header fields, and a checksum that fits."""
    start, body = payload[: LAYOUT.size], payload[SIZE:]
    values = dict(zip(FIELDS, LAYOUT.unpack(start)[:13], strict=True)) | fields
    start = LAYOUT.pack(*values.values(), *struct.unpack_from("<6I", start, 64))
    return start + checksum(start, body) + body


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"magic": b"PK\3\4"}, "magic is"),
        ({"version": 2}, "version is 2; allowed is 1"),
        ({"flags": 1}, "flags is 1; allowed is 0"),
        ({"flags": 128}, "flags is 128"),
        ({"coding": 9}, "coding is 9"),
        ({"width": 3}, "bits and group"),
        ({"stage": 2}, "entropy stage is 2"),
        ({"index_shift": 21}, "shift is 21"),
        ({"zero": 1}, "reserved byte is 1"),
        ({"group": 5}, "bits and group"),
        ({"length": 1 << 62}, "N is 4611686018427387904; allowed is 2000"),
        ({"nnz": 1 << 62}, "entries is 4611686018427387904; allowed is at most the 60 granted"),
        ({"nnz": 61}, "entries is 61"),
        ({"base": b"\1" * 32}, "base version is 0101"),
    ],
)
def test_header_fields_are_named(fields, said):
    with pytest.raises(PayloadError, match=said):
        decode(crafted(PAYLOADS[0], **fields), EXPECTED)


def test_another_checksum_and_another_length():
    payload = PAYLOADS[0]
    with pytest.raises(PayloadError, match="checksum"):
        decode(payload[:-1] + bytes([payload[-1] ^ 1]), EXPECTED)
    with pytest.raises(PayloadError, match="sections is"):
        decode(payload[:-1], EXPECTED)
    with pytest.raises(PayloadError, match="sections is"):
        decode(payload + b"\0", EXPECTED)
    with pytest.raises(PayloadError, match="at least the header"):
        decode(payload[:100], EXPECTED)
    with pytest.raises(PayloadError, match="length is 100000 bytes; allowed is at most"):
        decode(bytes(100_000), EXPECTED)


def test_only_codings_that_were_agreed_on():
    with pytest.raises(PayloadError, match="coding is fp32; allowed is ulp"):
        decode(PAYLOADS[0], replace(EXPECTED, codings=["ulp"]))
    payload = crafted(PAYLOADS[6], flags=1)
    with pytest.raises(PayloadError, match="ulp of new weights"):
        decode(payload, replace(EXPECTED, absolute=True), WEIGHTS)


def plain(
    sections: list[bytes], nnz: int, coding: str = "fp32", expected: Expected = EXPECTED, **fields
) -> bytes:
    sizes = tuple(len(section) for section in sections)
    header = Header(coding, "rans", expected.length, nnz, VERSION, sizes, **fields)
    return header.write(b"".join(sections))


def constant(symbol: int) -> bytes:
    return bytes([1, symbol])


ZERO = [constant(0)] * 4


def test_an_index_beyond_the_vector():
    """Distances of 0 are the first entries; large ones leave the vector. Repeats cannot be said."""
    assert decode(plain([constant(0), b"", *ZERO], 60), EXPECTED).indices.tolist() == list(range(60))
    with pytest.raises(PayloadError, match="an index is too large; allowed is below 2000"):
        decode(plain([constant(100), b"", *ZERO], 60), EXPECTED)


def test_distances_that_overflow_an_integer():
    """2^16 distances of 2^58 would wrap around to indices that look right."""
    expected = Expected(1 << 39, 1 << 16, VERSION)
    planes = b"\xff" * ((36 + 20) * (1 << 16) // 8)
    payload = plain([constant(255), planes, *ZERO], 1 << 16, expected=expected, index_shift=20)
    with pytest.raises(PayloadError, match="an index is too large"):
        decode(payload, replace(expected, granted=1 << 16))


@pytest.mark.parametrize(("top", "second"), [(0x7F, 0xC0), (0x7F, 0x80), (0xFF, 0x80), (0xFF, 0xFF)])
def test_nan_and_infinity(top, second):
    sections = [constant(0), b"", constant(0), constant(0), constant(second), constant(top)]
    with pytest.raises(PayloadError, match="NaN or infinity"):
        decode(plain(sections, 60), EXPECTED)


def test_a_step_out_of_the_range():
    """Symbol 255 with raw bits: the step's size is beyond any pattern."""
    payload = plain([constant(0), b"", constant(255), bytes(36)], 1, "ulp")
    with pytest.raises(PayloadError, match="out of bfloat16's range"):
        decode(payload, EXPECTED, WEIGHTS)


def test_steps_need_their_base():
    """A server that forgot it has made the mistake itself: no fault of the payload."""
    with pytest.raises(ValueError, match="need the base") as caught:
        decode(PAYLOADS[6], EXPECTED)
    assert not isinstance(caught.value, PayloadError)


def test_scales_and_codes():
    scales = struct.pack("<2H", 0x3F80, 0x7F80)
    with pytest.raises(PayloadError, match="a scale is"):
        decode(plain([constant(0), b"", constant(1), scales], 1, "bits", width=2, group=1), EXPECTED)
    scales = struct.pack("<2H", 0x7F7F, 0x7F7F)
    with pytest.raises(PayloadError, match="NaN or infinity"):
        decode(plain([constant(0), b"", constant(1), scales], 1, "bits", width=2, group=1), EXPECTED)
    with pytest.raises(PayloadError, match="a value's code is 4; allowed is below 4"):
        decode(plain([constant(0), b"", constant(4), scales], 1, "bits", width=2, group=1), EXPECTED)
    with pytest.raises(PayloadError, match="scales are 4 bytes; allowed is 8"):
        decode(plain([constant(0), b"", constant(1), scales], 2, "bits", width=2, group=1), EXPECTED)


def test_a_small_frame_that_asks_for_much():
    """zstd frames state their own size: a few bytes could make the library take gigabytes."""
    zeros = zstandard.ZstdCompressor().compress(bytes(60))
    frames = [
        zstandard.ZstdCompressor().compress(bytes(1 << 27)),
        zstandard.ZstdCompressor(write_content_size=False).compress(bytes(60)),
        zstandard.ZstdCompressor().compress(bytes(59)),
        zstandard.ZstdCompressor().compress(bytes(60)) + b"more",
        zstandard.ZstdCompressor().compress(bytes(30)) + zstandard.ZstdCompressor().compress(bytes(30)),
        bytes.fromhex("502a4d18") + struct.pack("<I", 60) + bytes(60),  # skippable
        # Sixty zeros as they should be, but for a window of 64 MiB.
        bytes.fromhex("28b52ffd") + bytes([0x80, 16 << 3]) + struct.pack("<I", 60) + zeros[6:],
        b"",
        b"\x28\xb5\x2f\xfd",
    ]
    assert decode(zipped(zeros, zeros), EXPECTED).nnz == 60
    tracemalloc.start()
    for frame in frames:
        with pytest.raises(PayloadError, match="zstd frame"):
            decode(zipped(frame, zeros), EXPECTED)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def zipped(indices: bytes, value: bytes) -> bytes:
    """60 entries in the stage zstd."""
    sections = [indices, b"", *[value] * 4]
    header = Header("fp32", "zstd", LENGTH, 60, VERSION, tuple(len(part) for part in sections))
    return header.write(b"".join(sections))


HALVES = bytes([2, 1]) + bytes([128, 16]) * 2
"""Frequencies of 2048 for the symbols 0 and 1."""


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (HALVES + struct.pack("<I", 1 << 26) + bytes(2), "do not end where they should"),
        (HALVES + struct.pack("<I", (1 << 32) - 1), "do not end where they should"),
        (HALVES + struct.pack("<I", 65536)[:3], "coded symbols are 3 bytes"),
        (HALVES + struct.pack("<I", 0), "coded symbols end after"),
        (bytes([2, 1, 128, 16, 127]) + bytes(4), "frequencies of symbols add up to 2175"),
        (bytes([2, 1, 128, 32, 0, 0]) + bytes(4), "frequencies of symbols add up to 4096"),
        (bytes([2, 5]) + bytes([128, 16]) * 2 + bytes(4), "frequencies of symbols"),
        (bytes([2, 1, 128, 16, 0, 255]) + bytes(4), "frequencies of symbols"),
        (bytes([2]), "frequencies of symbols"),
        (bytes([2, 255, 128]), "frequencies of symbols"),
        (bytes([0]) + bytes(11), "a run of 10 symbols begins with 0"),
        (bytes([1, 1, 1]), "a run of 10 symbols begins with 1"),
        (bytes([3, 1]), "a run of 10 symbols begins with 3"),
        (b"", "a run of 10 symbols begins with None"),
    ],
)
def test_runs_that_no_encoder_writes(run, said):
    """Each has one meaning or none: what is left over could be another receiver's other meaning."""
    with pytest.raises(PayloadError, match=said):
        decode(plain([run, b"", *ZERO], 10), EXPECTED)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_raw_bits_are_as_many_as_the_symbols_say(size):
    """Ten entries with a shift of one have ten raw bits: two bytes."""
    assert decode(plain([constant(0), bytes(2), *ZERO], 10, index_shift=1), EXPECTED).nnz == 10
    with pytest.raises(PayloadError, match=f"raw bits are {size} bytes; allowed is 2"):
        decode(plain([constant(0), bytes(size), *ZERO], 10, index_shift=1), EXPECTED)


def test_no_entries_have_no_bytes():
    with pytest.raises(PayloadError, match="a run of no symbols is 2 bytes"):
        decode(plain([constant(0), b"", *[b""] * 4], 0), EXPECTED)
    with pytest.raises(PayloadError, match="indices are sent though every entry is"):
        decode(plain([constant(0), b"", *ZERO], 5, expected=Expected(5, 5, VERSION)), Expected(5, 5, VERSION))


def test_two_bytes_do_not_claim_more_than_was_granted():
    """One symbol for all entries costs two bytes; the room that it takes is bounded by the grant."""
    expected = Expected(1 << 38, 1000, VERSION)
    payload = plain([constant(0), b"", *ZERO], 1 << 38, expected=expected)
    with pytest.raises(PayloadError, match="at most the 1000 granted"):
        decode(payload, expected)
