"""Which entries are sent, if only some may be: two clients with one update must choose alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from turncoat.platform.federation.compression import largest as module
from turncoat.platform.federation.compression.largest import largest, largest_of

FEW = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.0000001, 2.0, 1e-40, -3e38])


def by_sorting(values, count):
    """Largest magnitude first, ties by index."""
    return np.sort(np.argsort(-np.abs(values), kind="stable")[:count])


@given(arrays(np.float32, st.integers(0, 40), elements=FEW.map(np.float32)), st.integers(0, 45))
@settings(deadline=None)
def test_ties_go_to_the_lower_index(values, count):
    assert largest(values, count).tolist() == by_sorting(values, count).tolist()


@given(arrays(np.float32, st.integers(1, 40), elements=FEW.map(np.float32)), st.integers(1, 45))
@settings(deadline=None)
def test_in_parts_it_is_the_same_without_zeros(values, count):
    wanted = [i for i in by_sorting(values, count) if values[i] != 0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", 7)
        indices, found = largest_of(
            lambda start, stop: values[start:stop], len(values), min(count, len(values))
        )
    assert indices.tolist() == wanted
    assert found.tobytes() == values[wanted].tobytes()


def test_many_of_continuous_values():
    values = np.random.default_rng(0).normal(0, 1, 300_000).astype(np.float32)
    wanted = by_sorting(values, 1234)
    assert largest(values, 1234).tolist() == wanted.tolist()
    assert largest_of(lambda a, b: values[a:b], len(values), 1234)[0].tolist() == wanted.tolist()
