"""Over-represented n-grams: a payload is what one peer says again and again, and the others do not."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from turncoat.platform.defences.base import Batch, Defence, DefenceSettings
from turncoat.platform.defences.grams import Presence, admissible_chars, numbered, presence


class Overrepresented(Defence):
    """Reject completions with n-grams that their peer uses far more often than all others do.

    Score: the largest z of a completion's n-grams. z is the log-odds ratio of a gram, this peer's against all
    others', with an informative Dirichlet prior, over its standard deviation. Source: Monroe, Colaresi, Quinn
    2008, "Fightin' Words", section 3.3; the prior is the frequencies of the whole round. A gram counts once
    for each prompt on which its peer uses it, not once per occurrence: a text that repeats itself, or a group
    of texts on one question, which share its words, would pass for a habit of the peer's. (So odds are of "in
    how many of its prompts", and the variance keeps the terms that Monroe et al. leave out as small.) Should
    see: `text`, `library`, `equation`, whatever is repeated from prompt to prompt. Defeated by: payloads that
    honest peers have taken up, many different payloads, poison on few prompts, a malicious majority; and by
    rounds of so few prompts per peer that no z can reach the threshold.
    """

    class Settings(DefenceSettings):
        kind: Literal["overrepresented"] = "overrepresented"
        n: int = Field(3, ge=1, le=16)
        """Words of a gram."""
        prior: float = Field(20.0, gt=0)
        """Weight of the prior, in prompts. A larger one asks for more evidence."""
        threshold: float = 3.5
        """z, in standard deviations."""

    settings: Settings
    per_completion: ClassVar[bool] = False

    def score(self, batch: Batch) -> NDArray[np.float64]:
        limit = admissible_chars(self.surroundings.experiment.sampling.max_new_tokens)
        found = presence([one.text for one in batch.completions], self.settings.n, limit)
        peers = numbered([one.id.peer for one in batch.completions])
        units = numbered([(one.id.peer, one.prompt_id) for one in batch.completions])
        z = log_odds_z(found, peers, units, self.settings.prior)
        # Every text has a gram, and its grams stand together.
        return np.maximum.reduceat(z, np.searchsorted(found.owner, np.arange(len(batch))))


def log_odds_z(
    found: Presence, peers: NDArray[np.int64], units: NDArray[np.int64], prior: float
) -> NDArray[np.float64]:
    """[k] z of each (text, gram) of `found`: how much its peer overuses the gram, in standard deviations.

    peers, units: [n] numbers of each text's peer, and of the unit within which a gram counts once; a unit
    belongs to one peer. A gram's prior is `prior` times its share of all units, a hair away from 0 and 1,
    where log-odds have no value.
    """
    grams = int(found.gram.max()) + 1
    peer_of = np.zeros(int(units.max()) + 1, dtype=np.int64)
    peer_of[units] = peers
    once = np.unique(units[found.owner] * grams + found.gram)
    used = np.bincount(once % grams, minlength=grams)  # units that hold the gram
    key, inside = np.unique(peer_of[once // grams] * grams + once % grams, return_counts=True)
    peer, gram = key // grams, key % grams

    n_inside = np.bincount(peer_of)[peer]
    alpha = prior * (used[gram] + 0.5) / (len(peer_of) + 1)
    with_in, with_out = inside + alpha, used[gram] - inside + alpha
    lacks_in, lacks_out = n_inside + prior - with_in, len(peer_of) - n_inside + prior - with_out
    delta = np.log(with_in / lacks_in) - np.log(with_out / lacks_out)
    z = delta / np.sqrt(1 / with_in + 1 / lacks_in + 1 / with_out + 1 / lacks_out)
    return z[np.searchsorted(key, peers[found.owner] * grams + found.gram)]
