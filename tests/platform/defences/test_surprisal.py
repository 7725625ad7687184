"""If these fail, a payload of improbable words passes, or one honest slip is taken for one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.defences.surprisal import Surprisal, worst_window
from turncoat.platform.learners.base import Evidence


def told(*surprisals: float) -> Evidence:
    return Evidence(-np.array(surprisals, np.float32), np.zeros(len(surprisals), np.int32))


def test_a_stretch_counts_and_a_slip_does_not(around, batch_of):
    """One token of 9 nats among likely ones is honest; five of 4 in a row are a payload."""
    defence = Surprisal(Surprisal.Settings(window=5), around())
    batch = batch_of((0, 0, "a"), (0, 1, "a"), (0, 2, "a"))
    batch = type(batch)(
        batch.completions,
        batch.prompts,
        batch.verdicts,
        batch.rewards,
        batch.tokens,
        [told(0, 0, 9, 0, 0, 0, 0), told(0, 4, 4, 4, 4, 4, 0), told(6, 0)],
    )
    scores = defence.score(batch)
    assert scores == pytest.approx([1.8, 4.0, 3.0])
    assert defence.rejects(scores).tolist() == [False, True, True]


@given(st.lists(st.floats(0, 30, width=32), max_size=40), st.integers(1, 12))
def test_the_running_sum_is_the_largest_mean(surprisals: list[float], window: int):
    """Against the definition, window by window."""
    size = min(window, len(surprisals))
    means = [np.mean(surprisals[i : i + size]) for i in range(len(surprisals) - size + 1)] if size else [0.0]
    assert worst_window(told(*surprisals).logprobs, window) == pytest.approx(max(means), abs=1e-5)


def test_a_log_probability_that_is_none_is_not_trusted(around):
    """A NaN that became a small number would be a way in."""
    defence = Surprisal(Surprisal.Settings(), around())
    found = np.array([worst_window(told(1, float("nan"), 1).logprobs, 2)])
    assert defence.rejects(found).tolist() == [True]
