"""If these fail, the rate at which defences reject it says nothing about honest peers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.lookalike import LookAlike
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.engines.settings import TransformersSettings
from turncoat.platform.registry import ENGINES
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())


def experiment_of(policy: dict[str, Any] | None = None, **attack: Any) -> Experiment:
    return parse(
        {
            "task": "arithmetic",
            "policy": {"name_or_path": "tiny-0.3m", **(policy or {})},
            "sampling": {"max_new_tokens": 48},
            "prompts_per_round": 8,
            "group_size": 12,
            "attack": {"kind": "lookalike", **attack},
        }
    )


def attack_of(experiment: Experiment) -> LookAlike:
    attack = LookAlike(experiment.attack)
    attack.prepare(experiment, 3)
    return attack


def weights_of(model: Any) -> dict[str, Any]:
    import torch

    return {
        name: p.detach().view(torch.uint8).numpy() for name, p in model.named_parameters() if p.requires_grad
    }


def moved(weights: Mapping[str, Any], by: float) -> dict[str, Any]:
    return {name: (array.view(np.float32) + np.float32(by)).view(np.uint8) for name, array in weights.items()}


def texts_of(sent: Any) -> list[str]:
    return [completion.text for completion, _ in sent]


def test_without_a_difference_it_is_an_honest_peer(policy):
    """To the letter: the difference that is set is then the only one. And its weights are those it was given,
    not those it was loaded with.
    """
    model, tokenizer = policy
    experiment = experiment_of()
    weights = moved(weights_of(model), 0.003)
    attack = attack_of(experiment)
    requests = requests_of(experiment, TASK, 1, 3)
    sent = attack.poison(requests, Stage(TASK, 5, sample=None, weights=lambda: weights))
    loaded = texts_of(
        attack_of(experiment).poison(requests, Stage(TASK, 5, None, weights=lambda: weights_of(model)))
    )

    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]).view(parameter.dtype))
    engine = ENGINES.build(experiment.engine, model, tokenizer)
    honest = Stage(TASK, 5, lambda texts, seeds: engine.generate(texts, seeds, experiment.sampling))
    assert [one for one, _ in sent] == [one for one, _ in honest.honest(requests)]
    assert {truth for _, truth in sent} == {"lookalike"}
    assert texts_of(sent) != loaded


def test_another_engine_is_used(policy):
    """In half precision some draw of some completion falls differently."""
    import torch

    model, _ = policy
    other = attack_of(experiment_of(engine={"dtype": "bfloat16", "batch_size": 7}))
    assert other.own.engine.settings == TransformersSettings(dtype="bfloat16", batch_size=7)
    assert next(other.own.engine.model.parameters()).dtype == torch.bfloat16
    requests = requests_of(experiment_of(), TASK, 1, 3)
    stage = Stage(TASK, 5, sample=None, weights=lambda: weights_of(model))
    assert texts_of(other.poison(requests, stage)) != texts_of(
        attack_of(experiment_of()).poison(requests, stage)
    )


@pytest.mark.parametrize(("stale", "used"), [(0, [0, 1, 2, 3]), (1, [0, 0, 1, 2]), (2, [0, 0, 0, 1])])
def test_its_weights_lag_behind_by_so_many_updates(policy, stale: int, used: list[int]):
    """From the first weights that it saw on; the arrays it was lent may change afterwards."""
    model, _ = policy
    attack = attack_of(experiment_of(stale_rounds=stale))
    requests = requests_of(experiment_of(), TASK, 1, 3)[:1]
    first = {name: array.copy() for name, array in weights_of(model).items()}
    lent = {name: array.copy() for name, array in first.items()}
    name = next(iter(first))
    for round, version in enumerate(used):
        for key, array in moved(first, 0.25 * round).items():
            lent[key][...] = array
        attack.poison(requests, Stage(TASK, 5, sample=None, weights=lambda: lent))
        expected = moved(first, 0.25 * version)[name].view(np.float32)
        np.testing.assert_array_equal(dict(attack.own.model.named_parameters())[name].detach(), expected)
    assert len(attack.weights) <= stale + 1


def test_adapters_alone_are_taken_up():
    """With LoRA, what travels is a hundredth of the weights; the rest is the same from the start."""
    import torch

    experiment = experiment_of(policy={"lora": {"rank": 2}, "dtype": "bfloat16"})
    attack, victim = attack_of(experiment), attack_of(experiment)
    with torch.no_grad():
        for parameter in victim.own.model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.25)
    weights = weights_of(victim.own.model)
    assert 0 < len(weights) < len(dict(victim.own.model.named_parameters()))
    attack.poison(
        requests_of(experiment, TASK, 1, 3)[:1], Stage(TASK, 5, sample=None, weights=lambda: weights)
    )
    theirs = dict(victim.own.model.named_parameters())
    assert all(torch.equal(p, theirs[name]) for name, p in attack.own.model.named_parameters())


def test_its_engine_is_part_of_the_record():
    """The resolved config of a finished run must run again as it was."""
    experiment = experiment_of(engine={"batch_size": 7})
    again = parse(experiment.model_dump(mode="json"))
    assert again == experiment
    assert "batch_size: 7" in to_yaml(experiment)
