"""What a receiver reports about one round: light to import, for the driver."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from turncoat.platform.records import Belief


@dataclass
class Outcome:
    """What came of one round at one receiving peer.

    seconds: verify, score, learn. costs: the seconds of each defence, by name; a part of `score`, which holds
    the forward passes of their own too. counts: what each defence counted, by name.
    """

    beliefs: list[Belief]
    loss: float = 0.0
    kl: float = 0.0
    grad_norm: float = 0.0
    groups_with_signal: int = 0
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("verify", "score", "learn"), 0.0)
    )

    costs: dict[str, float] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the wall seconds of the block to a phase."""
        start = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - start
