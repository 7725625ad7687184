"""A penalty for leaving the reference policy, estimated on the tokens at hand."""

from torch import Tensor


def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Schulman's k3 estimate of KL(policy ‖ reference) at each token, in nats, never negative: [n, T].

    k3 = exp(d) − d − 1,   d = log π_ref − log π_θ

    Source: J. Schulman, "Approximating KL divergence" (2020); used in GRPO: arXiv 2402.03300, equation 4.

    On tokens sampled from the policy its *value* is unbiased for KL(π_θ ‖ π_ref). Its *gradient* is not that
    of the same divergence: ∂k3 / ∂log π_θ = 1 − π_ref / π_θ, whose expectation under the policy is the
    gradient of the other direction, KL(π_ref ‖ π_θ) (arXiv 2506.09477). Descent lowers a token that the
    policy likes more than the reference does, by at most 1 per token, and raises one that it likes less,
    without bound. On another peer's tokens, which were not sampled from the policy, neither expectation
    holds.

    logprobs: [n, T], with gradient. reference_logprobs: [n, T], treated as a constant.
    """
    difference = reference_logprobs.detach() - logprobs
    return difference.exp() - difference - 1


def kl_loss(
    logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor, weights: Tensor, beta: float
) -> Tensor:
    """The penalty's share of one padded micro-batch, β Σ_i w_i Σ_t k3_it: a scalar to add to `policy_loss`.

    Takes the weights of the policy loss, so that micro-batches add up in the same way. A completion with
    advantage zero is still penalised: with β > 0 no group may skip its backward pass. Shapes as in
    `policy_loss`.
    """
    mask = mask.bool()
    # Equal log-probs in the padding: it adds neither value nor gradient.
    policy, reference = logprobs.masked_fill(~mask, 0.0), reference_logprobs.masked_fill(~mask, 0.0)
    return beta * (weights[:, None] * k3(policy, reference)).sum()
