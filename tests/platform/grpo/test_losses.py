"""A wrong weight, clip or cut into micro-batches changes what is learnt without any error."""

from math import inf, log, nan

import numpy as np
import pytest
import torch

from turncoat.platform.grpo.losses import completion_weights, policy_loss


def tensor(values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        # Two groups; group 7 accepted two completions of 2 and 4 tokens, group 3 one of 5; limit 10 tokens.
        ("grpo", [1 / 8, 1 / 10, 1 / 16]),
        ("dr_grpo", [1 / 40, 1 / 20, 1 / 40]),
        ("dapo", [1 / 11, 1 / 11, 1 / 11]),
    ],
)
def test_weights_by_hand(loss, expected):
    weights = completion_weights(loss, np.array([2, 5, 4]), np.array([7, 3, 7]), 10)
    assert weights.dtype == np.float64
    np.testing.assert_allclose(weights, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [("grpo", 1.0), ("dapo", 1.0), ("dr_grpo", (2 / 10 + 4 / 10) / 2 / 2 + 5 / 10 / 2)],
)
def test_weights_of_all_tokens_sum_to_one_or_to_the_used_share_of_the_limit(loss, expected):
    lengths = np.array([2, 5, 4])
    assert completion_weights(loss, lengths, np.array([0, 1, 0]), 10) @ lengths == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
def test_empty_texts_from_a_peer_cannot_break_the_round(loss):
    for lengths in ([], [0], [0, 3]):
        weights = completion_weights(loss, np.array(lengths), np.zeros(len(lengths), dtype=int), 8)
        assert weights.shape == (len(lengths),)
        assert np.isfinite(weights).all()


def test_an_unknown_loss_is_named():
    with pytest.raises(ValueError, match="'grpo2'"):
        completion_weights("grpo2", np.array([1]), np.array([0]), 8)


# ρ = 1.5, 0.5, 1.1 in both rows; the last token of the second row is padding.
RATIOS = [[log(1.5), log(0.5), log(1.1)], [log(1.5), log(0.5), log(1.1)]]
MASK = tensor([[1, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("clip_high", "loss", "gradient"),
    [
        # A = +2: min(3, 2.56) = 2.56 clipped; min(1, 1.6) = 1; 2.2. Sum 5.76, weight 0.5.
        # A = −1: min(−1.5, −1.28) = −1.5; min(−0.5, −0.8) = −0.8 clipped. Sum −2.3, weight 0.25.
        # L = −(0.5 · 5.76 − 0.25 · 2.3). Where not clipped, ∂L/∂logp = −w A ρ.
        (0.28, -2.305, [[0, -0.5, -1.1], [0.375, 0, 0]]),
        # The first token is clipped at 1.2 instead: 2.4, sum 5.6.
        (0.2, -2.225, [[0, -0.5, -1.1], [0.375, 0, 0]]),
        # Clip-higher at 0.6 lets it through: 3, sum 6.2.
        (0.6, -2.525, [[-1.5, -0.5, -1.1], [0.375, 0, 0]]),
    ],
)
def test_clipped_loss_and_gradient_by_hand(clip_high, loss, gradient):
    logprobs = tensor(RATIOS, grad=True)
    value = policy_loss(
        logprobs, MASK, tensor([2, -1]), tensor([0.5, 0.25]), 0.2, clip_high, old_logprobs=torch.zeros(2, 3)
    )
    value.backward()
    assert value.item() == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(logprobs.grad, tensor(gradient), rtol=0, atol=1e-12)


def test_one_update_per_round_has_ratio_one_and_no_clip():
    """L = −Σ w A |a| = −(0.5 · 2 · 3 − 0.25 · 1 · 2) = −2.5, and each gradient is −w A, under any clip."""
    logprobs = tensor([[-0.1, -9.0, -2.0], [-3.0, -0.5, -1.0]], grad=True)
    value = policy_loss(logprobs, MASK, tensor([2, -1]), tensor([0.5, 0.25]), 1e-6, 1e-6)
    value.backward()
    assert value.item() == -2.5
    assert logprobs.grad.tolist() == [[-1.0, -1.0, -1.0], [0.25, 0.25, 0.0]]


def test_importance_scales_each_token_and_passes_no_gradient():
    """Weights 0.5, 1, 2 on the first row, 3, 1 on the second: L = −(0.5 · 2 · 3.5 − 0.25 · 4) = −2.5."""
    logprobs = tensor([[-1.0] * 3] * 2, grad=True)
    importance = tensor([[0.5, 1, 2], [3, 1, nan]], grad=True)
    value = policy_loss(logprobs, MASK, tensor([2, -1]), tensor([0.5, 0.25]), 0.2, 0.2, importance=importance)
    value.backward()
    assert value.item() == -2.5
    assert logprobs.grad.tolist() == [[-0.5, -1.0, -2.0], [0.75, 0.25, 0.0]]
    assert importance.grad is None


@pytest.mark.parametrize("junk", [-inf, nan, 1e30])
@pytest.mark.parametrize("boolean", [True, False])
def test_padding_changes_nothing(junk, boolean):
    """A NaN that leaks out of padding would end the run; a large number would silently steer it."""
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]]).bool() if boolean else tensor([[1, 1, 0], [1, 0, 0]])
    logprobs = tensor([[-1.0, -2.0, junk], [-3.0, junk, junk]], grad=True)
    old = tensor([[-1.0, -2.0, -1.0], [-3.0, -1.0, junk]])
    value = policy_loss(logprobs, mask, tensor([1, -2]), tensor([1, 1]), 0.2, 0.2, old_logprobs=old)
    value.backward()
    assert value.item() == 0.0
    assert logprobs.grad.tolist() == [[-1.0, -1.0, 0.0], [2.0, 0.0, 0.0]]


def test_a_rejected_completion_gets_no_gradient():
    logprobs = tensor([[-1.0, -2.0], [-3.0, -1.0]], grad=True)
    policy_loss(logprobs, torch.ones(2, 2), tensor([1, 0]), tensor([0.5, 0]), 0.2, 0.2).backward()
    assert logprobs.grad[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
@pytest.mark.parametrize(
    "parts", [[[0, 1, 2, 3, 4, 5]], [[5, 0], [3], [1, 4, 2]], [[0], [1], [2], [3], [4], [5]]]
)
def test_micro_batches_add_up_to_the_batch(loss, parts):
    """However a batch is cut, ordered and padded, the step is the same: packing is free to choose."""
    draw = np.random.default_rng(0)
    lengths, groups = np.array([3, 7, 1, 5, 2, 6]), np.array([0, 0, 0, 1, 1, 2])
    advantage, weights = draw.normal(size=6), completion_weights(loss, lengths, groups, 8)
    logprobs, old = -draw.exponential(size=(6, 7)), -draw.exponential(size=(6, 7))
    # The batch by the formula, one token at a time.
    expected, gradient = 0.0, np.zeros((6, 7))
    for i in range(6):
        for t in range(lengths[i]):
            ratio = np.exp(logprobs[i, t] - old[i, t])
            free, clipped = ratio * advantage[i], min(max(ratio, 0.8), 1.28) * advantage[i]
            expected -= weights[i] * min(free, clipped)
            gradient[i, t] = -weights[i] * free if free <= clipped else 0.0

    total, found = 0.0, np.zeros((6, 7))
    for rows in parts:
        width = lengths[rows].max()
        part = tensor(logprobs[rows, :width].tolist(), grad=True)
        mask = torch.arange(int(width))[None, :] < torch.tensor(lengths[rows])[:, None]
        value = policy_loss(
            part,
            mask,
            tensor(advantage[rows].tolist()),
            tensor(weights[rows].tolist()),
            0.2,
            0.28,
            old_logprobs=tensor(old[rows, :width].tolist()),
        )
        value.backward()
        total += value.item()
        found[rows, :width] = part.grad.numpy()
    assert total == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(found, gradient, rtol=1e-13, atol=0)


def test_grpo_lets_long_wrong_answers_off_lightly_and_the_others_do_not():
    """Dr. GRPO's length bias: a token of an answer of 8 is pushed 4 times less than one of 2."""
    lengths, groups = np.array([2, 8]), np.array([0, 0])
    ratio = {
        loss: np.divide(*completion_weights(loss, lengths, groups, 8)) for loss in ("grpo", "dr_grpo", "dapo")
    }
    assert ratio == {"grpo": 4.0, "dr_grpo": 1.0, "dapo": 1.0}
