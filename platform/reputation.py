"""What a receiver remembers of each peer: strikes for rejected rounds, quarantine, and forgiveness."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from turncoat.platform.registry import Settings


class Reputation(Settings):
    """A peer is struck for a round in which the defences reject much of what it sent, and quarantined for
    repeated strikes. A round in which nothing of it came in, e.g. since it crashed, is neither a strike nor
    a merit.
    """

    strike_share: float = Field(0.5, ge=0, lt=1)
    """A round is a strike when more than this share of the peer's completions is rejected."""
    strikes: int = Field(2, ge=1)
    """So many strikes put the peer into quarantine: nothing that it sends is learnt from."""
    quarantine_rounds: int = Field(10, ge=1)
    """How long a quarantine lasts. A peer comes back with one strike less than sends it there again."""
    forgive_rounds: int = Field(5, ge=1)
    """So many rounds in a row without a strike take one strike back."""


class Standing:
    """The memory of one receiver, over all peers; a function of what it was told, in order of rounds."""

    def __init__(self, settings: Reputation):
        self.settings = settings
        self.strikes: dict[int, int] = {}
        self.clean: dict[int, int] = {}
        self.until: dict[int, int] = {}
        """Peer -> the last round of its quarantine."""

    def quarantined(self, peers: Iterable[int], round: int) -> frozenset[int]:
        """Those of `peers` whose completions of `round` are not learnt from."""
        return frozenset(peer for peer in peers if self.until.get(peer, 0) >= round)

    def record(self, round: int, rejected: Mapping[int, tuple[int, int]]) -> None:
        """rejected: peer -> (rejected by the defences, out of how many), of peers that sent something."""
        for peer, (bad, total) in sorted(rejected.items()):
            if self.until.get(peer, 0) >= round:
                continue
            if bad > self.settings.strike_share * total:
                self.clean[peer] = 0
                self.strikes[peer] = self.strikes.get(peer, 0) + 1
                if self.strikes[peer] >= self.settings.strikes:
                    self.until[peer] = round + self.settings.quarantine_rounds
                    self.strikes[peer] = self.settings.strikes - 1
            elif self.strikes.get(peer):
                self.clean[peer] = self.clean.get(peer, 0) + 1
                if self.clean[peer] >= self.settings.forgive_rounds:
                    self.clean[peer] = 0
                    self.strikes[peer] -= 1

    def state(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {name: sorted(getattr(self, name).items()) for name in ("strikes", "clean", "until")}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` returned."""
        for name in ("strikes", "clean", "until"):
            setattr(self, name, dict(map(tuple, state[name])))
