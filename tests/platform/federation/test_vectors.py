"""One order of weights for all: a vector written by one client must mean the same to another."""

import hashlib

import numpy as np
import pytest
import torch
from torch.nn import Parameter

from turncoat.platform.federation.vectors import Layout, version_of


def test_the_order_is_that_of_names() -> None:
    """Models list parameters as they were built; a sum over another order would mix layers up."""
    one = {"b": Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]])), "a": Parameter(torch.tensor([5.0]))}
    layout = Layout.of(one)
    assert layout == Layout.of(dict(reversed(one.items())))
    assert (layout.size, layout.read(one).tolist()) == (5, [5.0, 1.0, 2.0, 3.0, 4.0])


def test_what_is_written_is_read_back_to_the_bit() -> None:
    """Also zeros with a sign, subnormal numbers, and a vector that is read-only, as Ray hands it out."""
    weights = {"a": Parameter(torch.zeros(2, 2)), "b": Parameter(torch.zeros(()))}
    layout = Layout.of(weights)
    vector = np.array([-0.0, 1e-42, 3e38, 1.0, -7.5], np.float32)
    vector.flags.writeable = False
    layout.write(vector, weights)
    assert layout.read(weights).tobytes() == vector.tobytes()
    copy = layout.read(weights)
    copy[:] = 0
    assert weights["b"].item() == -7.5


@pytest.mark.filterwarnings("error")
def test_read_only_vectors_are_no_reason_to_warn() -> None:
    """Every client of every round would print it."""
    vector = np.ones(3, np.float32)
    vector.flags.writeable = False
    weights = {"a": Parameter(torch.zeros(3))}
    Layout.of(weights).write(vector, weights)


def test_a_version_names_the_bits() -> None:
    """0 and -0 compare equal and are two states of a policy."""
    zeros = np.zeros(3, np.float32)
    assert version_of(zeros) == hashlib.sha256(bytes(12)).hexdigest()
    assert version_of(-zeros) != version_of(zeros)
    assert version_of(np.arange(6, dtype=np.float32)[::2]) == version_of(np.array([0, 2, 4], np.float32))
