"""The scores that a run logged, by defence, from its `completions.parquet` or an unfinished run's parts.

One receiver is read. Where a run has several (other policies, or identical peers computed apart), each
wrote a row for the same completion, and taking all of them would count it as often.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal import completions
from turncoat.platform.journal.journal import Journal
from turncoat.platform.records import Truth
from turncoat.platform.roc import Scores

TRUTHS: tuple[str, ...] = get_args(Truth)


@dataclass(frozen=True)
class Logged:
    """n completions as one receiver scored them.

    truths: [n] index into TRUTHS. groups: [n] prompt group, 0 to n_groups - 1. scores: defence -> [n], NaN
    where it could not be computed. asked: defence -> [n] bool; `only_needed` leaves some out.
    """

    receiver: int
    truths: NDArray[np.int64]
    groups: NDArray[np.int64]
    n_groups: int
    scores: Mapping[str, NDArray[np.float64]]
    asked: Mapping[str, NDArray[np.bool_]]

    def of(self, defence: str, truth: str) -> Scores:
        """What `defence` said of the class `truth` and of the honest completions, where it was asked."""
        chosen = self._of_truth(truth) | self._of_truth("honest")
        at = np.flatnonzero(chosen & self.asked[defence])
        return Scores(
            self.scores[defence][at], self._of_truth(truth)[at], self.groups[at], n_groups=self.n_groups
        )

    def counts(self, defence: str, truth: str) -> dict[str, int]:
        """scored: got a number. failed: it could not be computed. unasked: it was never asked about them."""
        mine, asked = self._of_truth(truth), self.asked[defence]
        failed = mine & asked & np.isnan(self.scores[defence])
        return {
            "scored": int((mine & asked).sum() - failed.sum()),
            "failed": int(failed.sum()),
            "unasked": int((mine & ~asked).sum()),
        }

    def _of_truth(self, truth: str) -> NDArray[np.bool_]:
        return self.truths == TRUTHS.index(truth)


def read_scores(folder: Path, receiver: int | None = None) -> Logged:
    """The logged scores of the run in `folder`, as `receiver` (its first, unless given) computed them.

    What malicious peers wrote honestly, beside their poison or before it, is left out: it is neither.

    Raises BadInput for a receiver that logged none (it names those that did), and for a run without a round.
    """
    table = completions.read(folder, ["round", "prompt", "peer", "truth", "receiver", "scores"])
    peers = Journal.open(folder).experiment()["peers"]
    beside = pc.and_(
        pc.equal(table["truth"], "honest"),
        pc.greater_equal(table["peer"], peers["count"] - peers["malicious"]),
    )
    table = table.filter(pc.invert(beside))
    present = sorted(pc.unique(table["receiver"]).to_pylist())
    if not present:
        raise BadInput(
            f"run is {str(folder)!r}: it has no completions yet, allowed is one with a finished round"
        )
    if receiver is None:
        receiver = present[0]
    elif receiver not in present:
        raise BadInput(
            f"peer is {receiver}: {str(folder)!r} holds nothing that it scored itself, "
            f"allowed are {', '.join(map(str, present))}"
        )
    if len(present) > 1:
        table = table.filter(pc.equal(table["receiver"], receiver))
    prompts = table["round"].to_numpy().astype(np.int64) << 32 | table["prompt"].to_numpy()
    distinct, groups = np.unique(prompts, return_inverse=True)
    truths = pc.index_in(table["truth"].combine_chunks(), pa.array(TRUTHS)).to_numpy()
    scores, asked = _columns(table["scores"].combine_chunks(), table.num_rows)
    return Logged(receiver, truths, groups, len(distinct), scores, asked)


def _columns(
    maps: pa.MapArray, n: int
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.bool_]]]:
    """From n maps to a column per defence: (scores, whether it was asked)."""
    ends = maps.offsets.to_numpy()
    rows = np.repeat(np.arange(n), np.diff(ends))
    names = maps.keys[ends[0] : ends[-1]].dictionary_encode()
    values = maps.items[ends[0] : ends[-1]].to_numpy(zero_copy_only=False)
    codes = names.indices.to_numpy()
    scores, asked = {}, {}
    for code, name in sorted(enumerate(names.dictionary.to_pylist()), key=lambda pair: pair[1]):
        chosen = codes == code
        scores[name] = np.full(n, np.nan)
        scores[name][rows[chosen]] = values[chosen]
        asked[name] = np.zeros(n, dtype=bool)
        asked[name][rows[chosen]] = True
    return scores, asked
