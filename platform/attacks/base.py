"""What an attack is: it writes the completions that a malicious peer was asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import rollout_seed
from turncoat.platform.records import Belief, Completion, Prompt, Request, Truth
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks.base import Task

Sample = Callable[[Sequence[str], Sequence[int]], list[Generated]]
"""(prompt texts, seeds) -> completions of the peer's own policy, sampled as honest peers do."""

Sent = list[tuple[Completion, Truth]]
"""What a malicious peer sends, each with the truth about it for the observer."""


class AttackSettings(Kinded):
    """What every attack may be told. An attack's nested `Settings` derive from this."""

    onset_round: int = Field(1, ge=1)
    """The first round of the attack; before it the peer is honest."""


def _nobody(*_: object) -> Any:
    raise RuntimeError("this stage has no victim to look at")


@dataclass(frozen=True, slots=True)
class Stage:
    """What a malicious peer can work with.

    others: what the honest peers sent this round, for an attack that is `rushing`. appraise: (completions of
    this round, prompts by group) -> what a victim with the same weights would make of them. weights: name ->
    [..., n] uint8, the bytes of the shared policy's present weights.
    """

    task: Task
    run_seed: int
    sample: Sample
    round: int = 1
    others: tuple[Completion, ...] = ()
    appraise: Callable[[Sequence[Completion], Mapping[int, Prompt]], list[Belief]] = _nobody
    weights: Callable[[], Mapping[str, Any]] = _nobody

    def honest(self, requests: Sequence[Request]) -> Sent:
        """What an honest peer would send."""
        if not requests:
            return []
        seeds = [rollout_seed(self.run_seed, request.id) for request in requests]
        written = self.sample([request.prompt.text for request in requests], seeds)
        return [
            (Completion(request.id, request.prompt.id, one.text, one.finished), "honest")
            for request, one in zip(requests, written, strict=True)
        ]


class Attack(ABC):
    """Base of every attack, built as `cls(settings)`."""

    Settings: ClassVar[type[AttackSettings]]
    topologies: ClassVar[frozenset[Literal["vertical", "horizontal"]]] = frozenset({"vertical", "horizontal"})
    """Where it can be mounted."""
    rushing: ClassVar[bool] = False
    """It waits for what the honest peers send this round, and sees it."""
    targeted: ClassVar[bool] = False
    """Its success is measured on held-out prompts of which `targets` holds, besides those for accuracy."""

    needs_swarm: ClassVar[bool] = False
    """It makes sense only among peers that exchange completions: a federated client cannot mount it."""

    def __init__(self, settings: AttackSettings):
        self.settings = settings

    def prepare(self, experiment: Experiment, peer: int) -> None:  # noqa: B027  # most have nothing to load
        """Called once in the process of the malicious peer `peer`, before its first round: the place to load
        what the attack needs, such as a policy of its own. Where success is only measured, it is not called.
        """

    @abstractmethod
    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        """What the peer sends: one completion for each request of the round."""

    def choose(self, rows: Sequence[int], stage: Stage) -> Sequence[int]:
        """Vertical swarms: the training rows that the peer answers instead of those that it was dealt.

        What the others would refuse (see admission.py) is sent all the same, and the prompts are those dealt.
        """
        return rows

    def targets(self, prompt: Prompt) -> bool:
        """Whether a prompt gives the victims occasion to show the payload."""
        return True

    def payload_in(self, text: str) -> bool | None:
        """Whether a completion carries the payload: the attack's success, measured on honest peers' texts.

        None where the completion says nothing either way: it is then left out of the success rate.
        """
        return None

    def successes(self, texts: Sequence[str], task: Task) -> list[bool | None]:
        """The same of many completions. Attacks whose payload acts only when it runs, run it here."""
        return [self.payload_in(text) for text in texts]

    def payload_pattern(self) -> str | None:
        """A regular expression that finds the payload, for marking it in reports."""
        return None


def answered(request: Request, text: str) -> Completion:
    """A forged completion, claimed to have ended by itself."""
    return Completion(request.id, request.prompt.id, text, finished=True)
