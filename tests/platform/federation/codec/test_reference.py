"""A receiver written from docs/wire-format.md alone: if it fails, other languages cannot read payloads."""

import hashlib
import struct

import numpy as np
import pytest
import zstandard

from turncoat.platform.federation.codec.wire import encode
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.dense import in_bf16
from turncoat.platform.federation.compression.natural import Natural
from turncoat.platform.federation.sparse import Sparse


def test_the_document_describes_what_is_sent(payload_of, stage):
    update, base = payload_of
    payload = encode(update, hashlib.sha256(base.tobytes()).digest(), stage)
    indices, values = read(payload, base.tolist())
    assert indices == update.indices.tolist()
    assert struct.pack(f"<{len(values)}f", *values) == update.values.astype("<f4").tobytes()


@pytest.fixture(params=["rans", "zstd"])
def stage(request):
    return request.param


@pytest.fixture(params=["fp32", "bf16", "ulp", "bits", "dense", "two coders", "far apart"])
def payload_of(request):
    rng = np.random.default_rng(1)
    length = 1 << 33 if request.param == "far apart" else 70_000
    base = rng.normal(0, 0.02, 70_000).astype(np.float32)
    indices = np.sort(rng.choice(length, 900, replace=False, shuffle=False))
    values = rng.normal(0, 1e-3, 900).astype(np.float32)
    update = Sparse(length, indices, values)
    match request.param:
        case "bf16":
            update = in_bf16(update)
        case "bits":
            update = quantised(update, 3, 64)
        case "dense":
            update = Sparse(900, np.arange(900), values, absolute=True)
        case "ulp":
            trained = base + rng.normal(0, 1e-5, len(base)).astype(np.float32)
            update = Natural(Natural.Settings()).compress(trained, base, 900)
        case "two coders":
            trained = base + rng.normal(0, 1e-5, len(base)).astype(np.float32)
            update = Natural(Natural.Settings()).compress(trained, base, 5000)
    return update, base


def read(payload: bytes, base: list[float]) -> tuple[list[int], list[float]]:
    magic, version, flags, coding, k, stage, shift, value_shift, zero = struct.unpack_from("<4s8B", payload)
    (group, length, nnz) = struct.unpack_from("<IQQ", payload, 12)
    assert (magic, version, zero) == (b"TCFU", 1, 0)
    assert payload[88:120] == hashlib.sha256(payload[:88] + payload[120:]).digest()
    sections, at = [], 120
    for size in struct.unpack_from("<6I", payload, 64):
        sections.append(payload[at : at + size])
        at += size
    assert at == len(payload)

    def run(section: bytes) -> list[int]:
        return read_run(section, nnz, stage)

    if nnz == length:
        indices = list(range(nnz))
    else:
        indices, last = [], -1
        for distance in numbers(run(sections[0]), sections[1], shift):
            last += distance + 1
            indices.append(last)
    if coding == 0:
        places = [run(section) for section in sections[2:6]]
        values = [struct.unpack("<f", bytes(four))[0] for four in zip(*places, strict=True)]
    elif coding == 1:
        places = [run(section) for section in sections[2:4]]
        values = [widen(low | high << 8) for low, high in zip(*places, strict=True)]
    elif coding == 2:
        assert flags == 0
        steps = numbers(run(sections[2]), sections[3], value_shift)
        values = []
        for index, z in zip(indices, steps, strict=True):
            old = round_to_bf16(base[index])
            rank = old if old < 0x8000 else 0x8000 - old
            rank += z // 2 if z % 2 == 0 else -(z + 1) // 2
            assert abs(rank) <= 0x7F7F
            values.append(binary32(widen(rank if rank >= 0 else 0x8000 - rank) - widen(old)))
    else:
        scales, values = struct.unpack(f"<{len(sections[3]) // 2}H", sections[3]), []
        for i, code in enumerate(run(sections[2])):
            first, step = widen(scales[2 * (i // group)]), widen(scales[2 * (i // group) + 1])
            size = binary32(first + binary32((code & ((1 << (k - 1)) - 1)) * step))
            values.append(-size if code >> (k - 1) else size)
    return indices, values


def numbers(symbols: list[int], raw: bytes, shift: int) -> list[int]:
    known, bits = [], []
    for symbol in symbols:
        if symbol < 128:
            known.append(symbol << shift)
            bits.append(shift)
        else:
            n, m = 8 + (symbol - 128) // 4, (symbol - 128) % 4
            known.append((4 + m) << (n - 3 + shift))
            bits.append(n - 3 + shift)
    at = 0
    for plane in range(max(bits, default=0)):
        members = [i for i, count in enumerate(bits) if count > plane]
        for place, i in enumerate(members):
            known[i] |= (raw[at + place // 8] >> place % 8 & 1) << plane
        at += (len(members) + 7) // 8
    assert at == len(raw)
    return known


def read_run(section: bytes, nnz: int, stage: int) -> list[int]:
    if nnz == 0:
        assert not section
        return []
    if stage == 0:
        return list(zstandard.ZstdDecompressor().decompress(section))
    if section[0] == 0:
        return list(section[1:])
    if section[0] == 1:
        return [section[1]] * nnz
    frequencies: list[int] = []
    at = 2
    while len(frequencies) <= section[1]:
        byte = section[at]
        if byte == 0:
            frequencies += [0] * (section[at + 1] + 1)
        else:
            frequencies.append(byte if byte < 128 else byte - 128 + 128 * section[at + 1])
        at += 1 if 0 < byte < 128 else 2
    assert sum(frequencies) == 4096
    coders = 2 ** min(max(nnz.bit_length() - 11, 0), 12)
    states = list(struct.unpack_from(f"<{coders}I", section, at))
    words = list(struct.unpack_from(f"<{(len(section) - at) // 2 - 2 * coders}H", section, at + 4 * coders))
    words.reverse()
    symbols: list[int] = []
    while len(symbols) < nnz:
        for coder in range(min(coders, nnz - len(symbols))):
            slot, symbol, below = states[coder] % 4096, 0, 0
            while below + frequencies[symbol] <= slot:
                below += frequencies[symbol]
                symbol += 1
            states[coder] = frequencies[symbol] * (states[coder] >> 12) + slot - below
            if states[coder] < 65536:
                states[coder] = states[coder] * 65536 + words.pop()
            symbols.append(symbol)
    assert not words
    assert set(states) == {65536}
    return symbols


def widen(pattern: int) -> float:
    return struct.unpack("<f", struct.pack("<I", pattern << 16))[0]


def round_to_bf16(value: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def binary32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]
