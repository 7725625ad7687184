"""Error feedback: what a budget cuts off arrives later, or training under a budget loses it for good."""

import numpy as np
import pytest

from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.registry import COMPRESSORS

LENGTH = 10_000
SECTIONS = [
    "natural",
    "top_k",
    {"kind": "top_k", "values": "fp32"},
    {"kind": "top_k", "values": "bits", "bits": 3, "group": 10},
    "sparsyfed",
    "sparse_loco",
    {"kind": "dense", "values": "bf16"},
]


@pytest.mark.parametrize("section", SECTIONS, ids=str)
def test_it_telescopes(section):
    """All that was sent and what is still owed are all updates, whatever rounding was sent."""
    compressor = COMPRESSORS.build(COMPRESSORS.parse(section))
    budget = None if "dense" in str(section) else 100
    rng, feedback = np.random.default_rng(0), ErrorFeedback(LENGTH)
    updates, sent = np.zeros(LENGTH), np.zeros(LENGTH)
    base = np.zeros(LENGTH, np.float32)
    # `natural` takes Δ as bfloat16: there it is one already.
    span = 120 if section == "natural" else 10_000
    for _ in range(5):
        delta = (rng.integers(-span, span + 1, LENGTH) * 2.0**-18).astype(np.float32)
        update = compressor.compress(base + delta, base, budget, feedback)
        updates += delta
        sent += update.dense()
        assert update.nnz == (budget or LENGTH)
    assert np.abs(sent + feedback.residual - updates).max() < 1e-7
    assert np.abs(feedback.residual).max() > 0


def test_decay_forgets():
    feedback = ErrorFeedback(2, decay=0.5)
    feedback.add(0, np.array([4.0, 0.0], np.float32))
    assert feedback.add(0, np.array([1.0, 1.0], np.float32)).tolist() == [3.0, 1.0]


def test_it_goes_on_after_a_restart():
    """A client that was killed owes what it owed."""
    compressor = COMPRESSORS.build(COMPRESSORS.parse("top_k"))
    rng = np.random.default_rng(0)
    trained = [rng.normal(0, 1, LENGTH).astype(np.float32) for _ in range(2)]
    base = np.zeros(LENGTH, np.float32)
    through, first, second = (
        ErrorFeedback(LENGTH, 0.9),
        ErrorFeedback(LENGTH, 0.9),
        ErrorFeedback(LENGTH, 0.9),
    )
    compressor.compress(trained[0], base, 50, through)
    compressor.compress(trained[0], base, 50, first)
    kept = first.state()
    compressor.compress(trained[1], base, 50, first)
    second.load(kept)
    whole = compressor.compress(trained[1], base, 50, through)
    resumed = compressor.compress(trained[1], base, 50, second)
    assert whole.values.tobytes() == resumed.values.tobytes()
    assert whole.indices.tobytes() == resumed.indices.tobytes()
    assert through.residual.tobytes() == second.residual.tobytes()


def test_a_state_of_another_vector_is_refused():
    with pytest.raises(ValueError, match=r"of \(3,\) entries; allowed is \(4,\)"):
        ErrorFeedback(4).load(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="NaN or infinite"):
        ErrorFeedback(1).load(np.array([np.inf], np.float32))
