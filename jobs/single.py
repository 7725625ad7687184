"""The config of jobs that have one policy and no swarm."""

from collections.abc import Sequence

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse


def single(policy: str, task: str, overrides: Sequence[str]) -> Experiment:
    """The default experiment without an attack, changed by overrides such as `task.path=FOLDER`.

    Raises ConfigError, in the words that a recipe's mistake would get.
    """
    tree = {"task": {"kind": task}, "policy": {"name_or_path": policy}, "peers": {"malicious": 0}}
    return parse(tree, overrides)
