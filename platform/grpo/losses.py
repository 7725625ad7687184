"""The policy losses as one clipped objective, weighted per completion.

`grpo`, `dr_grpo` and `dapo` differ in nothing but how much one token of a completion counts. That weight
depends on the whole batch, so it is computed once per round, from all accepted completions. A micro-batch
then takes its rows of it, and the losses of the micro-batches, however they were cut and padded, add up to
the loss of the batch.
"""

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

Loss = Literal["grpo", "dr_grpo", "dapo"]


def completion_weights(
    loss: Loss, lengths: ArrayLike, groups: ArrayLike, max_new_tokens: int
) -> NDArray[np.float64]:
    """How much one token of each accepted completion counts in the loss of the round: w_i, [n].

    With |a_i| tokens in completion i, G accepted completions in its group and Q groups:

    `grpo`     1 / (Q · G · |a_i|)            mean over tokens, completions and groups;
                                              DeepSeekMath, arXiv 2402.03300, equation 3
    `dr_grpo`  1 / (Q · G · max_new_tokens)   a constant, since |a_i| spares long wrong answers;
                                              Dr. GRPO, arXiv 2503.20783, section 3.2
    `dapo`     1 / Σ_j |a_j|                  mean over all tokens of the round;
                                              DAPO, arXiv 2503.14476, section 3.3

    lengths: [n], tokens of each accepted completion, its end token included.
    groups: [n], the group (prompt) of each.

    G counts what was accepted, not what was sampled: it is the group that the advantages were computed in,
    and a defence that drops half of a group does not halve the other half's step. Q counts groups with at
    least one accepted completion. Pass every accepted completion, also those whose advantage is zero: they
    belong to the mean even if the learner skips their backward pass.

    Raises ValueError for another loss.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    _, group_of, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    # An empty text has no token to weigh. It may come from a peer, so it must not divide by zero either.
    tokens = np.maximum(lengths, 1)
    if loss == "grpo":
        return 1.0 / (len(sizes) * sizes[group_of] * tokens)
    if loss == "dr_grpo":
        return 1.0 / (len(sizes) * sizes[group_of] * max_new_tokens)
    if loss == "dapo":
        return np.full(lengths.shape, 1.0 / max(int(lengths.sum()), 1))
    raise ValueError(f"loss is {loss!r}: allowed are grpo, dr_grpo, dapo")


def policy_loss(
    logprobs: Tensor,
    mask: Tensor,
    advantages: Tensor,
    weights: Tensor,
    clip_low: float,
    clip_high: float,
    old_logprobs: Tensor | None = None,
    importance: Tensor | None = None,
) -> Tensor:
    """The loss of one padded micro-batch, a scalar: its share of the round's loss (add, never average).

    L = −Σ_i w_i Σ_t c_it · min(ρ_it A_i, clip(ρ_it, 1 − clip_low, 1 + clip_high) A_i)
    with ρ_it = exp(logprobs_it − old_logprobs_it)

    The minimum is PPO's (arXiv 1707.06347, equation 7) as GRPO uses it (arXiv 2402.03300, equation 3); a
    clip_high above clip_low is DAPO's clip-higher (arXiv 2503.14476, section 3.1).

    logprobs: [n, T], of the policy in training, with gradient.
    mask: [n, T], true or 1 on the completion's tokens. What stands elsewhere, even NaN, changes nothing.
    advantages, weights: [n], rows of `advantages` and `completion_weights`; both 0 for a rejected completion.
    old_logprobs: [n, T], of the policy before the round's first update. None, at one update per round, means
    the policy itself: then ρ = 1, no clip is active, and the gradient is that of −Σ w A logprobs.
    importance: [n, T], c_it, from `truncated_importance`, or None for 1.

    The result has the widest dtype among the arguments: float64 weights give a float64 loss.
    """
    mask = mask.bool()
    old = logprobs.detach() if old_logprobs is None else old_logprobs.detach()
    # Masked before the exponential: 0 · inf is NaN, in the loss and in the gradient.
    ratio = (logprobs - old).masked_fill(~mask, 0.0).exp()
    advantage = advantages[:, None]
    objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip_low, 1 + clip_high) * advantage)
    if importance is not None:
        objective = objective * importance.detach().masked_fill(~mask, 0.0)
    return -(weights[:, None] * objective * mask).sum()


def part_size(loss: Loss, lengths: ArrayLike, groups: ArrayLike) -> float:
    """How much of a round's mean a part of the round stands for, when the rest is not known yet.

    With L_p the loss of part p under its own `completion_weights`, and s_p its size, the loss of the round is
    Σ_p s_p L_p / Σ_p s_p. Parts are made of whole groups. The size is the number of groups; for `dapo`, of
    tokens.
    """
    if loss == "dapo":
        return float(np.asarray(lengths, dtype=np.int64).sum())
    return float(len(np.unique(np.asarray(groups))))
