"""Seed replay: a completion that was sampled as the protocol says can be sampled again."""

from collections.abc import Sequence
from hashlib import blake2b
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings
from turncoat.platform.ids import rollout_seed, seed_of
from turncoat.platform.records import Completion

END = "\0"
"""Stands for the end token: who ran out of length wrote another text than who ended there."""


class Replay(Defence):
    """Reject the peers whose completions do not come out again when they are sampled again.

    The seed of every draw is bound to (run, round, prompt, peer, sample), so a receiver with the same weights
    can regenerate a sample of what each peer sent. Score of all of a peer's completions: the share of its
    replayed ones that differ. Source: our own; TOPLOC (Ong et al. 2025, arXiv 2501.16007) checks rollouts of
    strangers by their activations instead. Should see: whatever was not sampled as dealt out: `text`,
    `equation`, `library`, `length`, copies, another model. Defeated by: poison on so few completions that
    none is replayed. False alarms: peers whose arithmetic rounds otherwise (another dtype, engine or
    machine), stale weights. Stands on peers that hold the same weights. Cost: each receiver samples `share`
    of a round.

    What is replayed follows from a hash of all texts of the round. The seeds of the config are known to
    everybody, and who sends last knows the texts as well: it could vary one of its own until its poison is
    left out. A `secret` that only the receivers share closes that door.
    """

    class Settings(DefenceSettings):
        kind: Literal["replay"] = "replay"
        share: float = Field(0.125, gt=0, le=1)
        """Of each peer's completions that are replayed, at least one."""
        min_prefix: float = Field(1.0, ge=0, le=1)
        """Two texts are the same if they agree up to this share of the longer one. Below 1, a rounding late
        in a text passes, and so does a payload put there."""
        secret: str = ""
        """Mixed into the choice. Empty: who sends last can compute the choice."""
        threshold: float = Field(0.0, ge=0, lt=1)
        """Tolerated share of replayed completions that differ."""

    settings: Settings
    homogeneous_only: ClassVar[bool] = True

    def score(self, batch: Batch) -> NDArray[np.float64]:
        chosen = self._chosen(batch)
        run_seed, sampling = self.surroundings.experiment.seed, self.surroundings.experiment.sampling
        again = self.surroundings.generate(
            [batch.prompts[i].text for i in chosen],
            [rollout_seed(run_seed, batch.completions[i].id) for i in chosen],
            sampling,
        )
        peers = np.array([one.id.peer for one in batch.completions])
        differs: dict[int, list[bool]] = {}
        for i, other in zip(chosen, again, strict=True):
            one = batch.completions[i]
            agreed = agreement(one.text + END * one.finished, other.text + END * other.finished)
            differs.setdefault(one.id.peer, []).append(agreed < self.settings.min_prefix)
        self.counts.update(replayed=len(chosen), differing=sum(sum(found) for found in differs.values()))
        return np.array([np.mean(differs[peer]) for peer in peers.tolist()])

    def _chosen(self, batch: Batch) -> list[int]:
        """Places in the batch of the completions to replay, sorted."""
        of_peer: dict[int, list[int]] = {}
        for i, one in enumerate(batch.completions):
            of_peer.setdefault(one.id.peer, []).append(i)
        drawn = digest(batch.completions)
        run_seed, secret = self.surroundings.experiment.seed, self.settings.secret

        def lot(i: int) -> int:
            return seed_of(run_seed, "replay", secret, drawn, *batch.completions[i].id)

        return sorted(
            i
            for places in of_peer.values()
            for i in sorted(places, key=lot)[: ceil(self.settings.share * len(places))]
        )


def digest(completions: Sequence[Completion]) -> str:
    """A hash of everything that was sent, by id."""
    found = blake2b(digest_size=16)
    for one in completions:
        # A lone surrogate is no text, but it can be sent.
        text = one.text.encode("utf-8", "surrogatepass")
        found.update(f"{one.id}:{one.finished}:{len(text)}:".encode())
        found.update(text)
    return found.hexdigest()


def agreement(one: str, other: str) -> float:
    """Length of the common beginning, over that of the longer text; 1 for equal ones."""
    longer = max(len(one), len(other), 1)
    parting = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return 1.0 if one == other else next(parting, min(len(one), len(other))) / longer
