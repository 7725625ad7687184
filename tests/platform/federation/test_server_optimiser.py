"""The server's step along the combined update."""

import numpy as np
import pytest
import torch

from turncoat.platform.federation.server_optimiser import Adam, Nesterov, Sgd, server_optimiser

RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal(1000).astype(np.float32)
UPDATES = [(1e-2 * RANDOM.standard_normal(1000)).astype(np.float32) for _ in range(4)]


def test_sgd_of_one_adds_the_update_exactly() -> None:
    """FedAvg. Any other rounding, and the server no longer stands where the clients' mean does."""
    weights = WEIGHTS.copy()
    server_optimiser("sgd").step(weights, UPDATES[0])
    assert np.array_equal(weights, WEIGHTS + UPDATES[0])
    half = WEIGHTS.copy()
    server_optimiser("sgd", 0.5).step(half, UPDATES[0])
    assert np.array_equal(half, WEIGHTS + np.float32(0.5) * UPDATES[0])
    assert Sgd(1.0).lands
    assert not Sgd(0.5).lands
    assert not Nesterov(1.0, 0.0).lands


def test_nesterov_is_that_of_diloco() -> None:
    """DiLoCo runs torch's SGD with Nesterov momentum on the negative update."""
    mine, theirs = WEIGHTS.copy(), torch.nn.Parameter(torch.from_numpy(WEIGHTS.copy()))
    ours = server_optimiser("nesterov", 0.7, 0.9)
    reference = torch.optim.SGD([theirs], lr=0.7, momentum=0.9, nesterov=True)
    for update in UPDATES:
        ours.step(mine, update)
        theirs.grad = torch.from_numpy(-update)
        reference.step()
    assert mine == pytest.approx(theirs.detach().numpy(), abs=1e-6)


def test_adam_by_hand() -> None:
    """FedAdam's own form: no bias correction, ε outside the root."""
    mine, mean, square, expected = WEIGHTS.copy(), 0.0, 0.0, WEIGHTS.astype(np.float64)
    ours = server_optimiser("adam", 0.01, 0.9, 0.99, 1e-3)
    for update in UPDATES:
        ours.step(mine, update)
        mean = 0.9 * mean + 0.1 * update.astype(np.float64)
        square = 0.99 * square + 0.01 * update.astype(np.float64) ** 2
        expected = expected + 0.01 * mean / (np.sqrt(square) + 1e-3)
    assert mine == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["sgd", "nesterov", "adam"])
def test_resumed_steps_are_the_same(kind: str) -> None:
    """Train four rounds is train two and resume for two, to the bit."""
    through, apart = WEIGHTS.copy(), WEIGHTS.copy()
    one, two, three = (server_optimiser(kind, 0.1) for _ in range(3))
    for update in UPDATES:
        one.step(through, update)
    for update in UPDATES[:2]:
        two.step(apart, update)
    three.load(two.state())
    for update in UPDATES[2:]:
        three.step(apart, update)
    assert np.array_equal(through, apart)


def test_adam_leaves_alone_what_no_one_moved() -> None:
    """0/ε is 0: sparse updates stay sparse in the first round."""
    weights = WEIGHTS.copy()
    Adam(1.0, 0.9, 0.99, 1e-8).step(weights, np.where(np.arange(1000) < 10, UPDATES[0], 0).astype(np.float32))
    assert np.array_equal(weights[10:], WEIGHTS[10:])
    assert not np.array_equal(weights[:10], WEIGHTS[:10])
