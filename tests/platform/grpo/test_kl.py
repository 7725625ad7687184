"""A penalty with the wrong sign or direction would drive the policy away from its reference."""

from math import inf, log, nan

import pytest
import torch

from turncoat.platform.grpo.kl import k3, kl_loss


def tensor(values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


@pytest.mark.parametrize(
    ("policy", "reference", "value", "gradient"),
    [
        # e^d = π_ref / π, d = log of it; the gradient with respect to log π is 1 − π_ref / π.
        (0.5, 0.5, 0.0, 0.0),
        (0.5, 0.25, 0.193147, 0.5),  # 0.5 + 0.693147 − 1
        (0.25, 0.5, 0.306853, -1.0),  # 2 − 0.693147 − 1
        (0.1, 0.8, 4.920558, -7.0),  # 8 − 2.079442 − 1
    ],
)
def test_table_by_hand(policy, reference, value, gradient):
    logprob = tensor([[log(policy)]], grad=True)
    estimate = k3(logprob, tensor([[log(reference)]]))
    estimate.sum().backward()
    assert estimate.item() == pytest.approx(value, abs=1e-6)
    assert logprob.grad.item() == pytest.approx(gradient, abs=1e-12)


def test_value_is_the_reverse_kl_and_gradient_the_forward_one():
    """π = (1/2, 1/4, 1/4), ref = (1/4, 1/2, 1/4), averaged over the policy's own samples.

    KL(π ‖ ref) = ln 2 / 2 − ln 2 / 4 = ln 2 / 4. ∇ KL(ref ‖ π) in the logits is π − ref = (1/4, −1/4, 0).
    """
    probabilities = tensor([0.5, 0.25, 0.25])
    logits = probabilities.log().requires_grad_()
    expectation = (probabilities * k3(logits.log_softmax(0), tensor([0.25, 0.5, 0.25]).log())).sum()
    expectation.backward()
    assert expectation.item() == pytest.approx(log(2) / 4)
    torch.testing.assert_close(logits.grad, tensor([0.25, -0.25, 0.0]))


@pytest.mark.parametrize("junk", [-inf, nan])
def test_loss_takes_weights_and_beta_and_leaves_padding_out(junk):
    """0.1 · (2 · (0.193147 + 0.306853) + 3 · 0.306853) = 0.1 + 0.092056."""
    policy = tensor([[log(0.5), log(0.25)], [log(0.25), junk]], grad=True)
    reference = tensor([[log(0.25), log(0.5)], [log(0.5), -1.0]])
    value = kl_loss(policy, reference, torch.tensor([[True, True], [True, False]]), tensor([2, 3]), 0.1)
    value.backward()
    assert value.item() == pytest.approx(0.192056, abs=1e-6)
    torch.testing.assert_close(policy.grad, tensor([[0.1, -0.2], [-0.3, 0.0]]))
