"""What an attack is: it writes the completions that a malicious peer was asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.records import Completion, Request, Truth
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

Sample = Callable[[Sequence[str], Sequence[int]], list[Generated]]
"""(prompt texts, seeds) -> completions of the peer's own policy, sampled as honest peers do."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a malicious peer can work with."""

    task: Task
    run_seed: int
    sample: Sample

    def honest(self, requests: Sequence[Request]) -> list[tuple[Completion, Truth]]:
        """What an honest peer would send."""
        seeds = [rollout_seed(self.run_seed, request.id) for request in requests]
        written = self.sample([request.prompt.text for request in requests], seeds)
        return [
            (Completion(request.id, request.prompt.id, one.text, one.finished), "honest")
            for request, one in zip(requests, written, strict=True)
        ]


class Attack(ABC):
    """Base of every attack, built as `cls(settings)`."""

    Settings: ClassVar[type[Kinded]]
    topologies: ClassVar[frozenset[Literal["vertical", "horizontal"]]] = frozenset({"vertical", "horizontal"})
    """Where it can be mounted."""

    def __init__(self, settings: Kinded):
        self.settings = settings

    @abstractmethod
    def poison(self, requests: Sequence[Request], stage: Stage) -> list[tuple[Completion, Truth]]:
        """One completion for each request of the round, with the truth about it for the journal."""

    def payload_in(self, text: str) -> bool | None:
        """Whether a completion carries the payload: the attack's success, measured on honest peers' texts.

        None where the completion says nothing either way: it is then left out of the success rate.
        """
        return None

    def payload_pattern(self) -> str | None:
        """A regular expression that finds the payload, for marking it in reports."""
        return None


def rollout_seed(run_seed: int, id: CompletionId) -> int:
    """The seed of the draw of one completion: whoever holds the same weights can replay it."""
    return seed_of(run_seed, "rollout", *id)


def answered(request: Request, text: str) -> Completion:
    """A forged completion, claimed to have ended by itself."""
    return Completion(request.id, request.prompt.id, text, finished=True)
