"""`natural` is called lossless: its sparse updates must add up to what dense bfloat16 ones add up to."""

import numpy as np
import pytest

from turncoat.platform.federation.compression.dense import Dense
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.lattice import of_ranks, patterns, ranks, widen
from turncoat.platform.federation.compression.natural import Natural

NATURAL = Natural(Natural.Settings())
RNG = np.random.default_rng(0)
BASE = RNG.normal(0, 0.02, 300_000).astype(np.float32)
TRAINED = BASE + RNG.normal(0, 1e-6, len(BASE)).astype(np.float32)


def rounded(values):
    return widen(patterns(values))


def test_it_agrees_with_torch_on_bfloat16():
    """Rounded otherwise than the policy rounds, unchanged weights would be sent and changed ones not."""
    import torch

    edges = np.array([0, 0x8000, 0x7FFF, 0x8001, 0x17FFF, 0x18000, 0x3F808000, 0x7F7F7FFF, 1], np.uint32)
    bits = np.concatenate([edges, edges | 0x80000000, RNG.integers(0, 0x7F7F0000, 10_000, np.uint32)])
    values = bits.astype(np.uint32).view(np.float32)
    theirs = torch.from_numpy(values).bfloat16().view(torch.int16).numpy().view(np.uint16)
    assert patterns(values).tolist() == theirs.tolist()


def test_every_pattern_has_a_rank_and_neighbours_differ_by_one():
    patterns_ = np.arange(1 << 16, dtype=np.uint16)
    back = of_ranks(ranks(patterns_))
    assert np.flatnonzero(back != patterns_).tolist() == [0x8000]
    finite = widen(of_ranks(np.arange(-0x7F7F, 0x7F80, dtype=np.int32)))
    assert (np.diff(finite) > 0).all()


def test_support_is_what_changed_in_bfloat16():
    update = NATURAL.compress(TRAINED, BASE)
    changed = np.flatnonzero(rounded(TRAINED) != rounded(BASE))
    assert update.indices.tolist() == changed.tolist()
    assert 0 < update.density < 0.2
    assert np.array_equal(update.dense(), rounded(TRAINED) - rounded(BASE))


def test_sums_are_bit_equal_to_those_of_dense_updates():
    """The spec's second row of claims: B = 1 loses nothing."""
    clients = [BASE + RNG.normal(0, 1e-6, len(BASE)).astype(np.float32) for _ in range(3)]
    dense = Dense(Dense.Settings(values="ulp"))
    sums = []
    for compressor in (NATURAL, dense):
        total = np.zeros_like(BASE)
        for weight, trained in zip([0.5, 0.3, 0.2], clients, strict=True):
            update = compressor.compress(trained, BASE)
            total[update.where] += np.float32(weight) * update.values
        sums.append((BASE + total).tobytes())
    assert sums[0] == sums[1]


def test_the_sign_of_zero_is_no_change():
    """It would cost an entry that moves nothing."""
    update = NATURAL.compress(np.array([-0.0, 0.0, 1.0], np.float32), np.array([0.0, -0.0, 2.0], np.float32))
    assert update.indices.tolist() == [2]


def test_budget_takes_the_largest_and_the_lower_index_of_equals():
    base = np.zeros(6, np.float32)
    trained = np.array([0.5, -2.0, 1.0, 0, -1.0, 1.0], np.float32)
    assert NATURAL.offer(trained, base).nnz == 5
    assert NATURAL.compress(trained, base, 3).indices.tolist() == [1, 2, 4]
    assert NATURAL.compress(trained, base, 0).nnz == 0
    assert NATURAL.compress(trained, base, 99).nnz == 5


def test_with_error_feedback_new_weights_stay_on_the_lattice():
    """Else a step could not be said in ulps, and the client's memory of what it owes would be wrong."""
    feedback, base = ErrorFeedback(len(BASE)), rounded(BASE)
    owed_all = np.zeros(len(base), np.float64)
    for _ in range(4):
        trained = base + RNG.normal(0, 1e-5, len(base)).astype(np.float32)
        owed_all += trained - base
        update = NATURAL.compress(trained, base, 2000, feedback)
        new = base.copy()
        new[update.where] += update.values
        assert np.array_equal(new, rounded(new))
        owed_all -= update.dense()
        assert np.abs(owed_all - feedback.residual).max() < 1e-8
        base = new
    assert update.nnz == 2000


def test_steps_too_small_to_show_add_up_with_error_feedback():
    """Without it a client whose every step is below an ulp never moves the policy at all."""
    base = np.full(1000, 1.0, np.float32)
    feedback = ErrorFeedback(len(base))
    trained = base + np.float32(1e-3)
    assert NATURAL.compress(trained, base).nnz == 0
    sent = [NATURAL.compress(trained, base, None, feedback).nnz for _ in range(8)]
    assert sent[0] == 0
    assert max(sent) == 1000


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 3.4e38])
def test_weights_that_are_not_finite_in_bfloat16_are_the_clients_error(wrong):
    trained = BASE.copy()
    trained[-1] = wrong
    with pytest.raises(ValueError, match="finite"):
        NATURAL.offer(trained, BASE)
