"""Three figures that must not be mixed: the paper's count, bytes on the wire, and what entropy allows."""

import hashlib
from math import comb, log2

import numpy as np
import pytest

from turncoat.platform.federation.accounting import Cost, bound, count, log2_choose, paper_bytes
from turncoat.platform.federation.codec.wire import encode
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.sparse import Sparse, Ulp

PAPER = 3_397_103_616
"""Qwen2.5-3B with an untied head."""


@pytest.mark.parametrize(
    ("density", "megabytes", "ratio"),
    [(0.03167, "645.5", "31.6"), (0.01577, "321.4", "63.4"), (0.0016092, "32.8", "621")],
)
def test_the_papers_rows(density, megabytes, ratio):
    """Claim F4: its MB are six bytes an entry, its ratios are entries, not bytes."""
    entries = round(PAPER * density)
    assert f"{paper_bytes(entries) / 1e6:.1f}" == megabytes
    assert f"{count(PAPER, entries):.{len(ratio.partition('.')[2])}f}" == ratio
    assert 2 * PAPER / paper_bytes(entries) == pytest.approx(float(ratio) / 3, rel=0.01)


def test_dense_bytes_are_the_papers():
    assert f"{2 * PAPER / 1e6:.1f}" == "6794.2"


def test_ways_to_choose():
    assert log2_choose(1000, 30) == pytest.approx(log2(comb(1000, 30)))
    assert log2_choose(5, 0) == pytest.approx(0)
    # 6.4 bits an entry at the paper's density.
    assert log2_choose(PAPER, round(PAPER * 0.0317)) / (PAPER * 0.0317) == pytest.approx(6.4, abs=0.05)


def test_bound_by_hand():
    indices, values = np.arange(0, 80, 10), np.ones(8, np.float32)
    steps = np.array([1, 1, 1, 1, -1, -1, 2, -40_000], np.int32)
    support = log2(comb(100, 8))
    assert bound(Sparse(100, indices, values, Ulp(steps))) == pytest.approx((support + 8 * 1.75) / 8)
    assert bound(Sparse(100, indices, values)) == pytest.approx(support / 8)
    spread = np.array([1, 1, 1, 1, -1, -1, -1, -1], np.float32)
    assert bound(Sparse(100, indices, spread)) == pytest.approx((support + 8) / 8)
    assert bound(quantised(Sparse(100, indices, spread), 2, 8)) == pytest.approx((support + 8) / 8)
    assert bound(Sparse(9, np.empty(0, np.int64), np.empty(0, np.float32))) == pytest.approx(0)


def test_a_round_adds_up():
    """Bytes add and ratios do not: a mean of ratios would flatter one small update among large ones."""
    indices = np.array([1, 5], np.int64)
    update = Sparse(1000, indices, np.ones(2, np.float32))
    payload = encode(update, hashlib.sha256().digest())
    one = Cost.of(update, payload)
    assert (one.length, one.entries, one.payload_bytes) == (1000, 2, len(payload))
    assert one.count == 500
    assert one.wire == 2000 / len(payload)
    assert one.over_bound == len(payload) / one.bound_bytes
    both = one + Cost(1000, 0, 120, 0.0)
    assert both.count == 1000
    assert both.wire == 4000 / (len(payload) + 120)
    assert Cost(10, 0, 120, 0.0).count == Cost(10, 0, 120, 0.0).over_bound == float("inf")
