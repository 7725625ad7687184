"""A wrong advantage trains every token of a completion in the wrong direction or by the wrong amount."""

import numpy as np
import pytest

from turncoat.platform.grpo.advantages import advantages


@pytest.mark.parametrize(
    ("rewards", "kind", "std", "expected"),
    [
        # mean 1/2, std 1/2
        ([1, 1, 0, 0], "std", "population", [1, 1, -1, -1]),
        # mean 1/4, population variance 1/4 · 3/4 = 3/16: (3/4) / (√3/4) = √3 and (−1/4) / (√3/4) = −1/√3
        ([1, 0, 0, 0], "std", "population", [3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5)]),
        # sample variance 3/16 · 4/3 = 1/4, std 1/2
        ([1, 0, 0, 0], "std", "sample", [1.5, -0.5, -0.5, -0.5]),
        ([1, 0, 0, 0], "mean_only", "population", [0.75, -0.25, -0.25, -0.25]),
        # mean 2, deviations −2, 0, 2: population std √(8/3), sample std 2
        ([0, 2, 4], "std", "population", [-(1.5**0.5), 0, 1.5**0.5]),
        ([0, 2, 4], "std", "sample", [-1, 0, 1]),
        # two rewards: ±1 by population, ±1/√2 by sample std, whatever their distance
        ([0, 0.5], "std", "population", [-1, 1]),
        ([0, 0.5], "std", "sample", [-(0.5**0.5), 0.5**0.5]),
    ],
)
def test_table_by_hand(rewards, kind, std, expected):
    np.testing.assert_allclose(advantages(rewards, kind, std), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("kind", ["std", "mean_only"])
@pytest.mark.parametrize("std", ["population", "sample"])
@pytest.mark.parametrize(
    "rewards",
    [np.full(8, 0.3, dtype=np.float32), np.full(12, 0.1), [1.0] * 7, [0.0] * 12, [0.7], []],
    ids=["0.3 in float32", "0.1", "all right", "all wrong", "one", "none"],
)
def test_groups_without_a_signal_give_exactly_zero(rewards, kind, std):
    result = advantages(rewards, kind, std)
    assert result.dtype == np.float64
    assert result.tolist() == [0.0] * len(rewards)


def test_rounding_alone_would_pass_for_a_signal():
    """Why equality is tested: summed one by one in float32, eight rewards of 0.3 do not have the mean 0.3."""
    total = np.float32(0)
    for reward in np.full(8, 0.3, dtype=np.float32):
        total += reward
    deviation = np.float32(0.3) - total / np.float32(8)
    assert deviation / (abs(deviation) + 1e-9) > 0.9


def test_float32_rewards_are_reduced_in_float64():
    result = advantages(np.array([1, 0, 0], dtype=np.float32))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, [2**0.5, -(0.5**0.5), -(0.5**0.5)], rtol=1e-15)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_broken_reward_is_refused_and_named(bad):
    """One NaN would make the whole group's gradient NaN, and the policy with it."""
    with pytest.raises(ValueError, match=str(bad)):
        advantages([1.0, bad, 0.0])


def test_dividing_by_std_lifts_rare_poison():
    """c of 12 completions are poisoned and the only ones rewarded; their effect is A · c / 12.

    With σ: A = √((1 − p) / p), so A·p = √(p(1 − p)): √11/12 at c = 1, 1/2 at c = 6, ratio √11/6 = 0.553.
    Without: A·p = p(1 − p): 11/144 at c = 1, 1/4 at c = 6, ratio 44/144 = 0.306.
    """

    def effects(kind):
        return [advantages([1] * c + [0] * (12 - c), kind)[0] * c / 12 for c in range(1, 12)]

    for kind, first, peak, ratio in [
        ("std", 0.276385, 0.5, 0.552771),
        ("mean_only", 0.0763889, 0.25, 0.305556),
    ]:
        effect = effects(kind)
        assert effect.index(max(effect)) + 1 == 6
        assert effect[0] == pytest.approx(first, abs=1e-6)
        assert effect[5] == pytest.approx(peak, abs=1e-12)
        assert effect[0] / effect[5] == pytest.approx(ratio, abs=1e-6)
