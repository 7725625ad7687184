"""Who wrote which completion, and the seed that follows from it."""

import hashlib
from typing import NamedTuple


class CompletionId(NamedTuple):
    """Sorts by (round, prompt, peer, sample): the order of every reduction in the platform.

    `prompt` is the index of the prompt (the group) within the round, not the id of a dataset row.
    """

    round: int
    prompt: int
    peer: int
    sample: int

    def __str__(self) -> str:
        return f"r{self.round}/q{self.prompt}/p{self.peer}/s{self.sample}"


def seed_of(*parts: int | str) -> int:
    """A 63-bit seed from anything that names a draw, e.g. `seed_of(run_seed, "rollout", *completion_id)`.

    The same parts give the same seed on every machine and in every order of arrival. Parts are tagged with
    their type and length, so that ("a", "bc") and ("ab", "c"), or 1 and "1", differ.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        text = str(part).encode()
        digest.update(f"{type(part).__name__}:{len(text)}:".encode())
        digest.update(text)
    return int.from_bytes(digest.digest(), "big") >> 1


def rollout_seed(run_seed: int, id: CompletionId) -> int:
    """The seed of the draw of one completion: whoever holds the same weights can replay it."""
    return seed_of(run_seed, "rollout", *id)


def client_name(index: int) -> str:
    """A federated client's name in actors, journals and reports: `client-03`."""
    return f"client-{index:02d}"


def peer_name(index: int) -> str:
    """The peer's name in actors, journals and reports: `peer-03`."""
    return f"peer-{index:02d}"
