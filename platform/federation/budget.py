"""Adaptive sparse communication: who may send how many entries of its update."""

from collections.abc import Sequence
from math import floor
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat.platform.federation.signals import Signal

Rule = Literal["signal", "uniform", "fixed"]


def entry_budgets(signals: Sequence[Signal], share: float, rule: Rule = "signal") -> NDArray[np.int64]:
    """[K] entries that each client may send, in the order of `signals`. Their sum is at most B · Σ nnz_k.

    share: B, in (0, 1]. B = 1 lets everyone send everything. rule:

    `signal`   B · Σ nnz_k is shared in proportion to σ_k, no one having more than its nnz_k; what that frees
               goes to the others in the same proportion (water-filling). Clients with σ = 0 come last, with
               what no one else can use, in proportion to their nnz_k. Our reconstruction of Fed-GRPO
               (arXiv 2610.11502). σ_k is the client's own word: a liar's 0.5 buys bandwidth. So is nnz_k:
               who claims N entries makes the total larger for everyone.
    `uniform`  the same, with an equal σ for all.
    `fixed`    each client B of its own nnz_k.
    """
    sizes = np.array([signal.nnz for signal in signals], np.int64)
    if rule == "fixed":
        return np.array([floor(share * size) for size in sizes.tolist()], np.int64)
    sigma = [signal.sigma if rule == "signal" else 1.0 for signal in signals]
    return water_fill(floor(share * int(sizes.sum())), sigma, sizes)


def water_fill(total: int, demand: ArrayLike, caps: ArrayLike) -> NDArray[np.int64]:
    """[K] integers that sum to min(total, Σ caps): in proportion to `demand`, each at most its cap.

    demand: [K] >= 0. caps: [K] >= 0 integers. Where a share is no integer, the largest remainders are rounded
    up, equal ones in order. What those with a demand cannot take goes to the others in proportion to caps.
    """
    caps, demand = np.asarray(caps, np.int64), np.asarray(demand, np.float64)
    given = np.zeros(len(caps), np.int64)
    for wanting in (demand, np.where(demand > 0, 0.0, caps)):
        given += _fill(min(total - int(given.sum()), int(caps[wanting > 0].sum())), wanting, caps)
    return given


def _fill(total: int, demand: NDArray[np.float64], caps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Water-filling among those with a demand; `total` is at most the sum of their caps."""
    given = np.zeros(len(caps), np.int64)
    open_ = (demand > 0) & (caps > 0)
    while open_.any():
        left = total - int(given[~open_].sum())
        # Divided by the largest first: the sum of tiny demands, or of huge ones, is no number to divide by.
        scaled = demand[open_] / demand[open_].max()
        shares = np.zeros(len(caps))
        shares[open_] = left * (scaled / scaled.sum())
        full = open_ & (shares >= caps)
        if not full.any():
            return given + _rounded(shares, left, open_)
        given[full] = caps[full]
        open_ &= ~full
    return given


def _rounded(shares: NDArray[np.float64], total: int, open_: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Integers with the sum `total`: shares rounded down, then the largest remainders up."""
    down = np.floor(shares).astype(np.int64)
    at = np.flatnonzero(open_)
    by_remainder = at[np.argsort(-(shares - down)[at], kind="stable")]
    down[by_remainder[: total - int(down.sum())]] += 1
    return down
