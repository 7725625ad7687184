"""Correction for tokens that were drawn from another distribution than the one in training."""

from torch import Tensor


def truncated_importance(learner_logprobs: Tensor, engine_logprobs: Tensor, cap: float) -> Tensor:
    """Truncated importance weight of each token, detached: [n, T], between 0 and `cap`.

    c = min(π_learner / π_engine, cap)

    Source: Ionides, "Truncated Importance Sampling", JCGS 17(2), 2008; for the mismatch of rollout engine and
    learner: Yao et al., "On the Rollout-Training Mismatch in Modern RL Systems", NeurIPS 2025 workshop on
    efficient reasoning.

    The cap bounds what one token can add; the price is a bias towards tokens that the engine liked more.

    Both [n, T] log-probs must be the receiver's own computation, with its own learner and its own engine, of
    the text that arrived. A number that a peer sent along is a claim: by naming a low probability for its
    poison it would choose its own weight. Both are of the same distribution, i.e. at the same temperature and
    before top-k or top-p.
    """
    return (learner_logprobs - engine_logprobs).exp().clamp(max=cap).detach()
