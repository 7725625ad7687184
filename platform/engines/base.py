"""The seam between a peer and whatever generates its completions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turncoat.platform.config.experiment import Sampling


@dataclass(frozen=True, slots=True)
class Generated:
    """One sampled completion. tokens: how many were sampled, the end token included. finished: it ended
    itself.
    """

    text: str
    finished: bool
    tokens: int


class Engine(Protocol):
    """Samples completions from the weights that it shares with the learner, or was last given."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> list[Generated]:
        """One completion per prompt, in order. Equal prompts may be repeated; seed i alone drives the draw of
        row i.
        """
        ...

    def refresh(self) -> None:
        """Take up the weights of the model that it was built with, after they have changed."""
        ...
