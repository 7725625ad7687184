"""An uncapped or differentiable correction would let a few odd tokens take over the step."""

from math import inf, log

import torch

from turncoat.platform.grpo.importance import truncated_importance


def test_table_by_hand():
    """Learner / engine: 0.6/0.2 = 3, 0.3/0.6 = 0.5, 1, 0.5/0.25 = 2, and one the engine could not draw."""
    learner = torch.tensor([[log(0.6), log(0.3), -5.0, log(0.5), -1.0]], dtype=torch.float64)
    engine = torch.tensor([[log(0.2), log(0.6), -5.0, log(0.25), -inf]], dtype=torch.float64)
    expected = torch.tensor([[2.5, 0.5, 1.0, 2.0, 2.5]], dtype=torch.float64)
    torch.testing.assert_close(truncated_importance(learner, engine, 2.5), expected)


def test_no_gradient_flows_through_the_weight():
    learner = torch.tensor([[-1.0]], requires_grad=True)
    assert not truncated_importance(learner, torch.tensor([[-2.0]]), 10.0).requires_grad
