"""Near-duplicates: what a peer forges for one prompt is often one text, sent several times."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.config.errors import BadInput
from turncoat.platform.defences.base import Batch, Defence, DefenceSettings, Surroundings
from turncoat.platform.defences.grams import Presence, admissible_chars, numbered, presence


class Duplicate(Defence):
    """Reject completions that are copies of others of the same prompt, or nearly so.

    Score: the share of n-grams, 0 to 1 (Jaccard similarity of the two sets), that a completion has in common
    with the `copies`-th nearest other completion of its prompt; 1 for copies, 0 where there are fewer others.
    Source: shingling (Broder 1997, "On the resemblance and containment of documents"); the paper has no such
    defence. Should see: attacks whose poison is one text per prompt, as `text` and `library` with the oracle.
    Defeated by: distinct copies, few poisoned completions per prompt. False alarms: a policy that is sure of
    its answer repeats the same right solution, the more the better it gets (figures in docs/defences.md).
    """

    class Settings(DefenceSettings):
        kind: Literal["duplicate"] = "duplicate"
        n: int = Field(5, ge=1, le=16)
        """Words of a shingle. Longer ones see less likeness between texts of the same words."""
        scope: Literal["peer", "group"] = "peer"
        """Which others count: those of the same peer, or of everybody."""
        copies: int = Field(2, ge=1)
        """So many others must be as near as the score says; 1 takes a single repetition for a copy."""
        threshold: float = Field(0.9, ge=0, le=1)

    settings: Settings
    per_completion: ClassVar[bool] = False

    def __init__(self, settings: Settings, surroundings: Surroundings):
        super().__init__(settings, surroundings)
        one = surroundings.experiment
        sliced = one.topology == "horizontal" and settings.scope == "peer"
        others = (one.group_size // one.peers.count if sliced else one.group_size) - 1
        if settings.copies > others:
            raise BadInput(
                f"defences: duplicate has copies {settings.copies} with scope {settings.scope!r}, where no "
                f"completion has more than {others} others to be compared with: allowed is up to that"
            )

    def score(self, batch: Batch) -> NDArray[np.float64]:
        limit = admissible_chars(self.surroundings.experiment.sampling.max_new_tokens)
        found = presence([one.text for one in batch.completions], self.settings.n, limit)
        return nearest(found, self._groups(batch), self.settings.copies)

    def _groups(self, batch: Batch) -> NDArray[np.int64]:
        return numbered(
            [
                (one.prompt_id, one.id.peer if self.settings.scope == "peer" else None)
                for one in batch.completions
            ]
        )


def nearest(found: Presence, groups: NDArray[np.int64], copies: int) -> NDArray[np.float64]:
    """[n] Jaccard similarity of each text's grams to the `copies`-th nearest text of its group.

    groups: [n] the group of each text. Work grows with the grams and with the size of a group, not with pairs
    of groups.
    """
    n = len(groups)
    place, largest = places(groups)
    sizes = np.bincount(found.owner, minlength=n)
    shared = np.zeros((n, largest), dtype=np.int64)  # [text, place of the other in the group]
    # Texts of one group that hold one gram stand next to each other, `away` apart.
    key = groups[found.owner] * (int(found.gram.max(initial=0)) + 1) + found.gram
    order = np.argsort(key, kind="stable")
    key, owner = key[order], found.owner[order]
    for away in range(1, largest):
        same = key[away:] == key[:-away]
        one, other = owner[:-away][same], owner[away:][same]
        np.add.at(shared, (one, place[other]), 1)
        np.add.at(shared, (other, place[one]), 1)
    members = np.full((int(groups.max(initial=-1)) + 1, largest), -1)
    members[groups, place] = np.arange(n)
    others = members[groups]  # [text, place] the text there; -1: none
    union = sizes[:, None] + sizes[others] - shared
    likeness = np.where((others < 0) | (others == np.arange(n)[:, None]), 0.0, shared / union)
    if copies >= largest:
        return np.zeros(n)
    return np.sort(likeness, axis=1)[:, -copies]


def places(groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """([n] each text's place among those of its group, size of the largest group)."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    place = np.empty(len(groups), dtype=np.int64)
    place[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place, int(sizes.max(initial=0))
