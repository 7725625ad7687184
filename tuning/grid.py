"""A grid over dotted fields of an experiment: `grpo.advantage=std,mean_only` is one axis of it."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse


def axes_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """`["a.b=1,2", "seed=0,1,2"]` -> the values of each dotted field, as text. Raises ConfigError."""
    axes: dict[str, list[str]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not (key and equals and values):
            raise ConfigError(f"axis {text!r}: expected key=value,value,…")
        axes[key] = values.split(",")
    return axes


def points_of(axes: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Every combination, each as overrides of a recipe, in the order of the axes."""
    return [
        [f"{key}={value}" for key, value in zip(axes, values, strict=True)]
        for values in product(*axes.values())
    ]


def experiments_of(tree: Mapping[str, Any], points: Sequence[Sequence[str]]) -> list[Experiment]:
    """The experiment at every point. Raises ConfigError: bad values are found before the first trial."""
    return [parse(tree, point) for point in points]
