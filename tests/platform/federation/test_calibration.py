"""The factor of each prompt's advantages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.federation.calibration import emphasis_of, factors, mean_reward
from turncoat.platform.federation.signals import Signal

UNIT = st.floats(0, 1)
PROMPTS = st.lists(st.tuples(UNIT, st.booleans()), min_size=1, max_size=12)


@given(PROMPTS, st.one_of(st.none(), UNIT))
def test_no_strength_is_plain_grpo(prompts: list, mu: float | None) -> None:
    """λ = 0, and the first round, must not move a single bit of the step."""
    means, live = zip(*prompts, strict=True)
    assert factors(means, live, mu, 0.0).tolist() == [1.0] * len(means)
    assert factors(means, live, None, 3.0).tolist() == [1.0] * len(means)


@given(PROMPTS, UNIT, st.floats(0.01, 50))
def test_mean_over_live_prompts_is_one(prompts: list, mu: float, strength: float) -> None:
    """Else calibration is a change of the learning rate, and its ablation measures that."""
    means, live = zip(*prompts, strict=True)
    found = factors(means, live, mu, strength)
    assert np.all(found > 0)
    if any(live):
        assert found[list(live)].mean() == pytest.approx(1)
    order = np.argsort(means)
    assert np.all(np.diff(found[order]) <= 0), "a prompt on which the client is weaker never counts less"


def test_factors_by_hand() -> None:
    """The formula: 1 + λ(μ − r̄), between a half and two, over its mean on the live prompts."""
    raw = np.array([2.0, 1.4, 0.5, 0.5])
    found = factors([0.0, 0.5, 1.0, 1.0], [False, True, True, False], 0.6, 4.0)
    assert found == pytest.approx(raw / raw[1:3].mean())


def test_groups_keep_their_factors() -> None:
    """Advantages of another group would be scaled; a group of which nothing is left must not fail."""
    emphasis = emphasis_of(0.5, 1.0)
    found = emphasis({3: [0.0, 1.0, 0.0, 0.0], 8: [], 1: [1.0, 1.0, 1.0, 0.0]})
    assert found[3] == pytest.approx(1.25)
    assert found[1] == pytest.approx(0.75)
    assert set(found) == {1, 3, 8}
    assert emphasis({0: [1.0, 1.0], 1: []}) == {0: 1.0, 1: 1.0}


def test_mean_reward_counts_completions() -> None:
    """A client with few completions would pull everyone's aim."""
    signals = [Signal(0, 1, 30, 0.2, 0.1, 1, 0.0), Signal(1, 1, 10, 1.0, 0.0, 1, 1.0)]
    assert mean_reward(signals) == pytest.approx(0.4)
    assert mean_reward([], 0.3) == 0.3
    assert mean_reward([]) is None
