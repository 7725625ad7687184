"""Group-relative advantages: how much better a completion did than the others that answer the same prompt."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

AdvantageKind = Literal["std", "mean_only"]
Std = Literal["population", "sample"]


def advantages(
    rewards: ArrayLike, kind: AdvantageKind = "std", std: Std = "population"
) -> NDArray[np.float64]:
    """The advantages of one group, in the order of its rewards.

    `std`        A_i = (r_i − mean r) / std r     DeepSeekMath, arXiv 2402.03300, section 4.1.2 (GRPO)
    `mean_only`  A_i = r_i − mean r               Dr. GRPO, arXiv 2503.20783, section 3.2

    The choice matters under attack: with one poisoned completion of twelve rewarded, the poison has 55 % of
    the greatest effect it can reach in that group with `std`, and 31 % with `mean_only`.

    rewards: [n], those of the *accepted* completions of one prompt; a rejected completion is no part of its
    group.
    std: divide the squared deviations by n (population) or by n − 1 (sample) before the root.

    Equal rewards, hence also a single one, give exactly zero. This is decided by comparing the rewards: a
    deviation that is only rounding, divided by a tiny std + eps, would look like a signal.

    Raises ValueError when a reward is NaN or infinite.
    """
    r = np.asarray(rewards, dtype=np.float64)
    if not np.isfinite(r).all():
        raise ValueError(f"rewards are {r.tolist()}: allowed are finite numbers")
    if r.size == 0 or r.max() == r.min():
        return np.zeros_like(r)
    centred = r - r.mean()
    if kind == "mean_only":
        return centred
    return centred / r.std(ddof=1 if std == "sample" else 0)
