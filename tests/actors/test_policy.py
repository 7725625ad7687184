"""What the processes that hold a policy hand to one another, tried without Ray."""

from collections.abc import Callable
from typing import Any

import pytest

from turncoat.actors.policy import LearnerShard, RolloutWorker


@pytest.mark.parametrize("change", [(), ("policy.dtype=bfloat16", "policy.lora.rank=4")])
def test_rollout_workers_take_up_the_learners_weights(
    tiny: Callable[..., Any], change: tuple[str, ...]
) -> None:
    """Adapters alone are trained and handed on, and NumPy, which carries the weights, knows no bfloat16."""
    import torch

    plain = tiny(*change).model_dump(mode="json")
    learner, worker = LearnerShard(plain, 0), RolloutWorker(plain, 0)
    learner.start(), worker.start()
    with torch.no_grad():
        for tensor in learner.learner.trainable.values():
            tensor.add_(0.25)
    worker.take(learner.weights())
    there = dict(worker.model.named_parameters())
    assert all(torch.equal(tensor, there[name]) for name, tensor in learner.model.named_parameters())
