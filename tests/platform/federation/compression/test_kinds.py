"""Each kind of compressor sends what its name promises."""

import numpy as np
import pytest
from pydantic import ValidationError

from turncoat.platform.federation.codec.values import name_of
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.sparse import Bf16, Bits, Fp32, Sparse
from turncoat.platform.registry import COMPRESSORS

RNG = np.random.default_rng(0)
LENGTH = 3 * 4096 + 100
BASE = RNG.normal(0, 0.02, LENGTH).astype(np.float32)
TRAINED = BASE + RNG.normal(0, 1e-3, LENGTH).astype(np.float32)
DELTA = TRAINED - BASE

SECTIONS = [
    *COMPRESSORS.builtin,
    *({"kind": "dense", "values": values} for values in ("bf16", "ulp")),
    *({"kind": "top_k", "values": values} for values in ("fp32", "bits")),
    {"kind": "dense", "send": "weights", "values": "bf16"},
]


def built(section):
    return COMPRESSORS.build(COMPRESSORS.parse(section))


def test_dense_weights_are_the_weights():
    """base + (trained - base) is not trained in float32: one client would not be central training."""
    trained = RNG.normal(0, 0.02, LENGTH).astype(np.float32)
    assert (BASE + (trained - BASE) != trained).any()
    update = built({"kind": "dense", "send": "weights"}).compress(trained, BASE)
    assert update.absolute
    assert update.where == slice(None)
    assert update.values.tobytes() == trained.tobytes()
    assert update.indices.tolist() == list(range(LENGTH))


def test_dense_differences():
    assert built("dense").compress(TRAINED, BASE).values.tobytes() == DELTA.tobytes()
    update = built({"kind": "dense", "values": "bf16"}).compress(TRAINED, BASE)
    assert isinstance(update.coding, Bf16)
    assert np.abs(update.values / DELTA - 1).max() < 2**-8


def test_dense_cannot_do_with_less():
    with pytest.raises(ValueError, match="budget is 5"):
        built("dense").compress(TRAINED, BASE, 5)
    with pytest.raises(ValueError, match="without error feedback"):
        built({"kind": "dense", "send": "weights"}).offer(TRAINED, BASE, ErrorFeedback(LENGTH))
    with pytest.raises(ValidationError, match="allowed are fp32, bf16"):
        COMPRESSORS.parse({"kind": "dense", "send": "weights", "values": "ulp"})


def test_top_k_takes_its_share_or_number():
    assert built({"kind": "top_k", "share": 0.01}).compress(TRAINED, BASE).nnz == 124  # of 12,388, rounded up
    update = built({"kind": "top_k", "entries": 7, "values": "fp32"}).compress(TRAINED, BASE)
    assert isinstance(update.coding, Fp32)
    assert sorted(np.abs(update.values)) == sorted(np.sort(np.abs(DELTA))[-7:])
    assert built({"kind": "top_k", "entries": 10**9}).compress(TRAINED, BASE).nnz == LENGTH
    with pytest.raises(ValidationError, match="allowed is one of them"):
        COMPRESSORS.parse({"kind": "top_k", "entries": 7, "share": 0.1})


@pytest.mark.parametrize("section", SECTIONS, ids=str)
@pytest.mark.parametrize("trained", [TRAINED, BASE], ids=["changed", "empty"])
def test_values_travel_as_the_server_expects(section, trained):
    """Otherwise every honest update is refused, round after round."""
    compressor = built(section)
    assert name_of(compressor.compress(trained, BASE).coding) == compressor.coding


def test_sparsyfed_keeps_a_twentieth():
    settings = COMPRESSORS.parse("sparsyfed")
    update = COMPRESSORS.build(settings).compress(TRAINED, BASE)
    assert update.nnz == 620
    assert np.abs(update.values).min() == np.sort(np.abs(DELTA))[-620]
    assert settings.power > 1  # What the client's learner reads.


def test_sparse_loco_takes_64_of_each_chunk():
    compressor = built("sparse_loco")
    assert compressor.decay == 0.95
    update = compressor.compress(TRAINED, BASE)
    assert np.bincount(update.indices // 4096).tolist() == [64, 64, 64, 2]
    for chunk in range(3):
        here = update.indices[update.indices // 4096 == chunk]
        wanted = np.sort(np.argsort(-np.abs(DELTA[chunk * 4096 :][:4096]), kind="stable")[:64]) + chunk * 4096
        assert here.tolist() == wanted.tolist()
    assert isinstance(update.coding, Bits)
    assert len(np.unique(np.abs(update.values[:64]))) == 2
    assert (np.sign(update.values) == np.sign(DELTA[update.indices])).all()


def test_sparse_loco_breaks_ties_by_index_and_sends_no_zeros():
    base = np.zeros(8192, np.float32)
    trained = np.ones(8192, np.float32)
    trained[4096:] = 0
    assert built("sparse_loco").compress(trained, base).indices.tolist() == list(range(64))


def test_sparse_loco_over_many_chunks_at_a_time():
    """Chunks are worked on in batches: their borders must not show."""
    section = {"kind": "sparse_loco", "chunk": 1000, "entries": 3}
    delta = RNG.normal(0, 1, 400_000).astype(np.float32)
    update = built(section).compress(delta, np.zeros_like(delta))
    assert (np.bincount(update.indices // 1000) == 3).all()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_quantised_values_are_half_a_step_off_at_most(width):
    values = RNG.normal(0, 1, 1001).astype(np.float32)
    update = quantised(Sparse(1001, np.arange(1001), values), width, 50)
    coding = update.coding
    assert coding.codes.max() < 1 << width
    steps = np.repeat(coding.scales[:, 1].astype(np.uint32) << 16, 50)[:1001].view(np.float32)
    assert (np.abs(update.values - values) <= steps * 0.51 + 0.02).all()
    assert (np.signbit(update.values) == np.signbit(values)).all()


@pytest.mark.parametrize("kind", ["dense", "natural", "top_k", "sparsyfed", "sparse_loco"])
def test_broken_training_is_said_at_the_client(kind):
    """The server would refuse it all the same, as an attack."""
    trained = TRAINED.copy()
    trained[5] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        built(kind).offer(trained, BASE)


@pytest.mark.parametrize("kind", ["natural", "top_k", "sparsyfed", "sparse_loco"])
def test_nothing_learnt_is_nothing_sent(kind):
    update = built(kind).compress(BASE, BASE)
    assert update.nnz == 0
    assert update.values.dtype == np.float32


def test_an_update_in_groups_cannot_be_cut():
    with pytest.raises(TypeError, match="cannot be cut"):
        built("sparse_loco").compress(TRAINED, BASE).at(np.arange(3))
