"""What is decoded is what was sent, bit for bit: otherwise server and client disagree on the policy."""

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turncoat.platform.federation.accounting import Cost
from turncoat.platform.federation.codec.header import Expected
from turncoat.platform.federation.codec.wire import decode, encode
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.dense import in_bf16
from turncoat.platform.federation.compression.lattice import moved, patterns, widen
from turncoat.platform.federation.compression.natural import Natural
from turncoat.platform.federation.sparse import Bits, Sparse, Ulp

BASE = hashlib.sha256(b"base").digest()
STAGES = ["rans", "zstd"]


def there_and_back(update: Sparse, stage: str, base=None) -> bytes:
    payload = encode(update, BASE, stage)
    expected = Expected(update.length, update.nnz, BASE, update.absolute)
    assert len(payload) <= expected.most_bytes
    back = decode(payload, expected, base)
    assert (back.length, back.absolute) == (update.length, update.absolute)
    assert type(back.coding) is type(update.coding)
    assert back.indices.dtype == np.int64
    assert back.indices.tolist() == update.indices.tolist()
    assert back.values.dtype == np.float32
    assert back.values.tobytes() == update.values.tobytes()
    if isinstance(update.coding, Ulp):
        assert back.coding.steps.tolist() == update.coding.steps.tolist()
    if isinstance(update.coding, Bits):
        assert back.coding.codes.tolist() == update.coding.codes.tolist()
    return payload


def plain(length: int, indices: list[int], values: list[float], absolute: bool = False) -> Sparse:
    return Sparse(length, np.array(indices, np.int64), np.array(values, np.float32), absolute=absolute)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "update",
    [
        plain(10, [], []),
        plain(10, [3], [1.5]),
        plain(1, [0], [2.0]),
        plain(1, [], []),
        plain(10, [9], [-1e-30]),
        plain(10, [0, 9], [0.0, -0.0]),
        plain(3, [0, 1, 2], [1.0, -0.0, 3.0], absolute=True),
        plain(300, list(range(300)), [7.0] * 300),
        plain(1 << 39, [0, 1, (1 << 31) + 5, (1 << 39) - 1], [1.0, 2.0, 3.0, 4.0]),
        plain(1 << 39, [(1 << 39) - 1], [1e-45]),
    ],
    ids=["empty", "single", "N 1", "N 1 empty", "last", "zeros", "dense", "constant", "far", "end"],
)
def test_edges(update, stage):
    for coded in (update, in_bf16(update)):
        there_and_back(coded, stage)
    if not update.absolute:
        there_and_back(quantised(update, 2, 2), stage)


@pytest.mark.parametrize("stage", STAGES)
def test_steps_from_end_to_end_of_the_lattice(stage):
    """A wild step must not wrap around: it would become another weight."""
    base = widen(np.array([0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F00, 0x0001], np.uint16))
    steps = np.array([1, -1, -2 * 0x3F80, 70, 0x7F, -2], np.int32)
    update = Sparse(6, np.arange(6), moved(patterns(base), steps), Ulp(steps))
    there_and_back(update, stage, base)
    assert (base + update.values)[2] == -1.0


@pytest.mark.parametrize("stage", STAGES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_update(stage, data):
    length = data.draw(st.integers(1, 1 << 39))
    indices = data.draw(st.sets(st.integers(0, length - 1), max_size=40))
    values = data.draw(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False),
            min_size=len(indices),
            max_size=len(indices),
        )
    )
    there_and_back(plain(length, sorted(indices), values), stage)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("skew", [0.5, 0.999, 0.99999])
def test_many_symbols_for_several_coders(stage, skew):
    """Rare symbols, and rows that do not fill all coders."""
    rng = np.random.default_rng(0)
    length = 100_003
    steps = np.where(rng.random(length) < skew, 1, rng.integers(2, 300, length)).astype(np.int32)
    base = rng.normal(0, 1, length).astype(np.float32)
    update = Sparse(length, np.arange(length), moved(patterns(base), steps), Ulp(steps))
    there_and_back(update, stage, base)


def test_updates_that_no_receiver_takes_are_not_sent():
    """A client's own mistake shows at the client."""
    with pytest.raises(ValueError, match="not ascending"):
        encode(plain(10, [3, 3], [1.0, 2.0]), BASE)
    with pytest.raises(ValueError, match="not ascending"):
        encode(plain(10, [10], [1.0]), BASE)
    with pytest.raises(ValueError, match="NaN"):
        encode(plain(10, [1], [np.nan]), BASE)
    with pytest.raises(ValueError, match="not ascending"):
        encode(plain(2, [1, 0], [1.0, 2.0]), BASE)
    with pytest.raises(ValueError, match="at most"):
        encode(plain(1 << 40, [1], [1.0]), BASE)


def natural(length: int, clustered: bool, budget: float = 1.0) -> tuple[Sparse, np.ndarray]:
    """About 3 % of the entries, or a share `budget` of these."""
    rng = np.random.default_rng(0)
    base = widen(patterns(rng.normal(0, 0.02, length).astype(np.float32)))
    delta = rng.normal(0, 4e-6, length)
    if clustered:
        delta *= np.repeat(rng.lognormal(0, 1, -(-length // 500)), 500)[:length]
        delta *= np.repeat(rng.random(-(-length // 50_000)) < 0.7, 50_000)[:length]
    trained = (base + delta).astype(np.float32)
    compressor = Natural(Natural.Settings())
    offered = compressor.offer(trained, base)
    return compressor.send(offered, round(budget * offered.nnz)), base


@pytest.mark.parametrize("clustered", [False, True])
def test_size_is_near_the_bound(clustered):
    """32x on the wire needs this: payload within 1.15 of what entropy allows."""
    update, base = natural(1_000_000, clustered)
    assert 0.02 < update.density < 0.05
    cost = Cost.of(update, there_and_back(update, "rans", base))
    assert cost.over_bound < (1.0 if clustered else 1.03)
    assert cost.wire > 32


def test_a_twentieth_of_it_takes_one_600th_of_dense():
    update, base = natural(1_000_000, False, 0.05)
    assert Cost.of(update, there_and_back(update, "rans", base)).wire > 600


def test_memory_is_bounded():
    """A client's update of its whole model must fit beside the model."""
    update, base = natural(2_000_000, False)
    trained = base.copy()
    trained[update.where] += update.values
    compressor = Natural(Natural.Settings())
    tracemalloc.start()
    payload = encode(compressor.compress(trained, base), BASE)
    assert tracemalloc.get_traced_memory()[1] < 2 * (2 * len(base))
    tracemalloc.reset_peak()
    decode(payload, Expected(len(base), update.nnz, BASE), base)
    assert tracemalloc.get_traced_memory()[1] < 2 * (2 * len(base))
    tracemalloc.stop()
