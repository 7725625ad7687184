"""Global reward calibration: where a client falls short of the others' mean reward, it learns harder."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat.platform.federation.signals import Signal

LOWEST, HIGHEST = 0.5, 2.0
"""Between these lies a prompt's factor before it is rescaled."""


def factors(
    means: ArrayLike, live: ArrayLike, mu_global: float | None, strength: float
) -> NDArray[np.float64]:
    """u_q = clip(1 + λ (μ_glob − r̄_q), ½, 2), rescaled to mean 1 over the live prompts.

    Without the rescaling it would be a change of the learning rate in disguise. The factors multiply
    *advantages*: a factor on rewards is cancelled by the group's standard deviation. Our reconstruction of
    Fed-GRPO (arXiv 2610.11502), whose formula is not public.

    means: [Q] r̄_q, each prompt's mean reward, which never leaves the client. live: [Q] bool, whether the
    prompt's group carries a gradient. mu_global: None in the first round. strength: λ; 0 is plain GRPO.
    Returns [Q]; all ones where nothing is to be calibrated.
    """
    means, live = np.asarray(means, np.float64), np.asarray(live, bool)
    if mu_global is None or strength == 0 or not live.any():
        return np.ones(len(means))
    raw = np.clip(1 + strength * (mu_global - means), LOWEST, HIGHEST)
    return raw / raw[live].mean()


def emphasis_of(
    mu_global: float | None, strength: float
) -> Callable[[Mapping[int, Sequence[float]]], dict[int, float]]:
    """(rewards of each group, by its index) -> the factor of that group's advantages; see `factors`."""

    def emphasis(groups: Mapping[int, Sequence[float]]) -> dict[int, float]:
        means = [float(np.mean(rewards)) if len(rewards) else 0.0 for rewards in groups.values()]
        live = [len(rewards) > 0 and min(rewards) != max(rewards) for rewards in groups.values()]
        return dict(zip(groups, factors(means, live, mu_global, strength).tolist(), strict=True))

    return emphasis


def mean_reward(signals: Sequence[Signal], before: float | None = None) -> float | None:
    """μ_glob ← Σ n_k μ_k / Σ n_k. before: what it was, and stays where nobody's signal was believed."""
    total = sum(signal.n for signal in signals)
    return sum(signal.n * signal.mu for signal in signals) / total if total else before
