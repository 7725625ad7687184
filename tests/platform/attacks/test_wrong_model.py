"""If these fail, the cheat that saves work is not the one that was asked for."""

import subprocess
import sys
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.wrong_model import WrongModel
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment, Sampling
from turncoat.platform.config.loading import parse
from turncoat.platform.ids import rollout_seed
from turncoat.platform.registry import ENGINES
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())


def experiment_of(policy: str) -> Experiment:
    return parse(
        {
            "task": "arithmetic",
            "policy": {"name_or_path": "tiny-0.3m"},
            "sampling": {"max_new_tokens": 24},
            "prompts_per_round": 4,
            "group_size": 8,
            "attack": {"kind": "wrong_model", "policy": policy},
        }
    )


def written(policy: str, round: int = 1) -> Any:
    experiment = experiment_of(policy)
    attack = WrongModel(experiment.attack)
    attack.prepare(experiment, 3)
    requests = requests_of(experiment, TASK, round, 3)
    return requests, attack.poison(requests, Stage(TASK, 5, sample=None))


def test_it_samples_from_the_policy_that_it_names():
    """With the seeds of its own slots: in all but the weights it is what an honest peer does."""
    from turncoat.platform.policies.load import load_policy

    requests, sent = written("tiny-1m")
    engine = ENGINES.build(experiment_of("tiny-1m").engine, *load_policy("tiny-1m"))
    seeds = [rollout_seed(5, request.id) for request in requests]
    expected = engine.generate(
        [request.prompt.text for request in requests], seeds, Sampling(max_new_tokens=24)
    )
    assert [one.text for one, _ in sent] == [one.text for one in expected]
    assert [one.id for one, _ in sent] == [request.id for request in requests]
    assert {truth for _, truth in sent} == {"cheat"}
    assert [one.text for one, _ in written("tiny-0.3m")[1]] != [one.text for one in expected]


def test_an_unknown_policy_is_named_where_it_was_given():
    """`policy.name_or_path` would send the reader to the wrong line of the recipe."""
    with pytest.raises(BadInput, match=r"^attack\.policy: unknown policy 'tiny-2m'; did you mean"):
        written("tiny-2m")


@pytest.mark.parametrize("kind", ["wrong_model", "copycat", "hostile", "lookalike"])
def test_the_kinds_are_known_without_torch(kind: str):
    """Reading a config, and a light process without a policy of its own, must not pay for it."""
    attack = {"kind": kind, "policy": "tiny-1m"} if kind == "wrong_model" else {"kind": kind}
    script = (
        "import sys; from turncoat.platform.config.loading import parse; "
        "from turncoat.platform.registry import ATTACKS; "
        f"ATTACKS.build(parse({{'task': 'arithmetic', 'attack': {attack}}}).attack); "
        "print(sorted({'torch', 'transformers', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
