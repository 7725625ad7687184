"""What a client tells the server before it sends weights: figures of its round, and which are believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

SLACK = 1e-7
"""On σ² ≤ μ(1−μ): what rounding both figures to float32 can cost, and no more."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Phase 1 of a client's round. No prompt, completion or single reward is in it.

    n: completions that earned a reward, over all local steps. mu: mean reward. sigma: see `signal_of`.
    nnz: entries that the client would send without a budget. silent: share of the rewards that lie in groups
    without a gradient, where all rewards are equal. accuracy: the share of its completions that the client
    says are right, if anything.
    """

    client: int
    round: int
    n: int
    mu: float
    sigma: float
    nnz: int
    silent: float
    accuracy: float | None = None


def signal_of(
    client: int,
    round: int,
    groups: Sequence[Sequence[float]],
    nnz: int,
    std: Literal["group", "pooled"] = "group",
    accuracy: float | None = None,
) -> Signal:
    """An honest client's signal. groups: the rewards of each group of the round; empty groups do not count.

    `group`: σ is the mean over groups of the *population* standard deviation: 0 exactly where no group
    carries a gradient. `pooled`: that over all rewards, √(μ(1−μ)) if they are binary, which can be 0.5 where
    there is nothing to learn (an ablation). A group counts as often as it has rewards: with groups of one
    size this is the plain mean, and with others σ² ≤ μ(1−μ) still holds for every honest client.
    """
    rewards = [np.asarray(group, np.float64) for group in groups if len(group)]
    if not rewards:
        return Signal(client, round, 0, 0.0, 0.0, nnz, 1.0, accuracy)
    sizes = np.array([len(group) for group in rewards])
    spreads = np.array([_std(group) for group in rewards])
    pool = np.concatenate(rewards)
    sigma = _std(pool) if std == "pooled" else float(sizes @ spreads / sizes.sum())
    silent = float(sizes[spreads == 0].sum() / sizes.sum())
    return Signal(client, round, len(pool), float(pool.mean()), sigma, nnz, silent, accuracy)


def _std(rewards: NDArray[np.float64]) -> float:
    # About a rounded mean, such as that of rewards of 0.1, the deviations of equal rewards are not exactly 0.
    return 0.0 if rewards.min() == rewards.max() else float(rewards.std())


def admit(
    sent: Mapping[int, object],
    round: int,
    owed: Mapping[int, int],
    length: int,
    consistency: bool = True,
    lowest: float = 0.0,
) -> tuple[list[Signal], dict[int, str]]:
    """(signals that are believed, by client; client -> why its round is refused).

    sent: client -> what came from it, anything at all. owed: client -> the most completions that the round
    asks of it. length: N, the number of weights. lowest: the smallest reward that there is; the largest is 1.
    Reasons:

    "type"          no signal, or a figure in it is of another type
    "foreign"       of another client or round
    "not_finite"    NaN or infinite
    "negative"      σ is below 0
    "n"             no completions, or more than the round owes
    "nnz"           below 0, or more entries than there are weights
    "range"         the silent share or the accuracy is not between 0 and 1, or μ not between `lowest` and 1
    "inconsistent"  with `consistency`: rewards from `lowest` = 0 to 1 cannot have this σ beside this μ
                    (σ² ≤ μ(1−μ), and so at most ½: Bhatia and Davis 2000, and Jensen for the mean over
                    groups; in general σ² ≤ (μ − lowest)(1 − μ)). It believes μ: who forges μ = ½ as well
                    passes with σ = ½.
    """
    believed: list[Signal] = []
    refused: dict[int, str] = {}
    for client, signal in sorted(sent.items()):
        reason = _objection(signal, client, round, owed.get(client, 0), length, consistency, lowest)
        if reason is not None:
            refused[client] = reason
        elif isinstance(signal, Signal):
            believed.append(signal)
    return believed, refused


def _objection(
    signal: object, client: int, round: int, owed: int, length: int, consistency: bool, lowest: float
) -> str | None:
    if not isinstance(signal, Signal):
        return "type"
    # Plain numbers only: True equals 1, an array compares to neither, a subclass compares as it likes.
    if any(type(one) is not int for one in (signal.client, signal.round, signal.n, signal.nnz)):
        return "type"
    if any(type(one) is not float for one in (signal.mu, signal.sigma, signal.silent)):
        return "type"
    if signal.accuracy is not None and type(signal.accuracy) is not float:
        return "type"
    accuracy = 0.0 if signal.accuracy is None else signal.accuracy
    if (signal.client, signal.round) != (client, round):
        return "foreign"
    if not all(isfinite(one) for one in (signal.mu, signal.sigma, signal.silent, accuracy)):
        return "not_finite"
    if signal.sigma < 0:
        return "negative"
    if not 0 < signal.n <= owed:
        return "n"
    if not 0 <= signal.nnz <= length:
        return "nnz"
    # μ is the others' aim and a rule's baseline: one of 1e308 would make an infinite mean of all.
    if not (0 <= signal.silent <= 1 and 0 <= accuracy <= 1 and lowest <= signal.mu <= 1):
        return "range"
    possible = (signal.mu - lowest) * (1 - signal.mu) + SLACK
    return "inconsistent" if consistency and signal.sigma > possible**0.5 else None
