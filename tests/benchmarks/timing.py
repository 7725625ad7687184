"""CPU seconds of contestants that take turns, and their ratios pair by pair."""

import gc
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def alternate(
    contestants: Mapping[str, Callable[[], Any]], repetitions: int, warmups: int = 1
) -> dict[str, NDArray[np.float64]]:
    """[repetitions] CPU seconds of each, user and system, all threads of the process.

    Each repetition runs every contestant once, in an order drawn anew: whatever else the machine does meets
    all of them, and none always inherits caches and heap of the same predecessor. CPU seconds rather than
    wall-clock, since others may use the machine.
    """
    names, order = list(contestants), random.Random(0)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(-warmups, repetitions):
        for name in order.sample(names, len(names)):
            gc.collect()
            start = time.process_time()
            contestants[name]()
            if repetition >= 0:
                seconds[name].append(time.process_time() - start)
    return {name: np.array(taken) for name, taken in seconds.items()}


def spread(values: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
        "all": values.tolist(),
    }


def ratio(ours: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    """Of each pair of one repetition; with the 95 % percentile bootstrap interval of the median."""
    pairs = ours / other
    draws = np.random.default_rng(0).choice(pairs, (4000, len(pairs)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return spread(pairs) | {"interval": [float(low), float(high)]}
