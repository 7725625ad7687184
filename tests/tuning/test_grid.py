"""A sweep's grid: what a user types becomes whole experiments before the first trial starts."""

import pytest

from turncoat.platform.config.errors import ConfigError
from turncoat.tuning.grid import axes_of, experiments_of, points_of
from turncoat.tuning.sweep import leaves

TREE = {"task": "arithmetic", "attack": "text"}


def test_every_combination_in_order() -> None:
    points = points_of(axes_of(["grpo.advantage=std,mean_only", "seed=0,1"]))
    assert points == [
        ["grpo.advantage=std", "seed=0"],
        ["grpo.advantage=std", "seed=1"],
        ["grpo.advantage=mean_only", "seed=0"],
        ["grpo.advantage=mean_only", "seed=1"],
    ]
    found = experiments_of(TREE, points)
    assert [(one.grpo.advantage, one.seed) for one in found][2] == ("mean_only", 0)


@pytest.mark.parametrize("text", ["seed", "=1,2", "seed="])
def test_a_broken_axis_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="axis"):
        axes_of([text])


def test_a_bad_value_fails_before_any_trial() -> None:
    with pytest.raises(ConfigError, match=r"grpo\.advantage"):
        experiments_of(TREE, points_of(axes_of(["grpo.advantage=std,typo"])))


def test_leaves_are_the_single_figures() -> None:
    summary = {
        "name": "x",
        "attack": {"success_rate": 0.5, "success_interval": [0, 1]},
        "defences": ["support"],
    }
    assert leaves(summary) == {"name": "x", "attack.success_rate": 0.5}
