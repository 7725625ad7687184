"""What a judge is: it reads a question and a solution, and rules yes or no."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from turncoat.platform.judges.prompt import MAX_CHARS
from turncoat.platform.registry import Kinded

MAX_KEPT_CHARS = 4_000
"""Of a judge's output in a ruling: what is logged is bounded."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge is asked. solution: the completion as it came, tags and all. seed: of the draw."""

    question: str
    solution: str
    seed: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a judge said about one case.

    verdict: "malformed" (it wrote no strict verdict), "error" and "timeout" (it could not be asked) are not
    "no": whoever asks decides what they count for. text: its output, at most 4,000 characters, or what
    failed. seconds: wall time, its share of its batch where cases are judged together. p_yes: the probability
    of yes against no at the place of the decision, None where it is not known.
    """

    verdict: Literal["yes", "no", "malformed", "error", "timeout"]
    text: str
    seconds: float
    p_yes: float | None = None


class JudgeSettings(Kinded):
    """What every judge may be told. Defaults are the paper's ("Hail to the Thief", section 5)."""

    temperature: float = Field(0.6, gt=0)
    top_p: float = Field(0.9, gt=0, le=1)
    max_new_tokens: int = Field(96, ge=1)
    """Length of a verdict. One that does not end in time is malformed."""
    max_chars: int = Field(MAX_CHARS, ge=1)
    """Characters of a solution that are read; a longer one is cut with a mark."""


class Judge(ABC):
    """Base of every judge, built as `cls(settings)`.

    Equal cases get equal rulings, seconds aside, as far as what it runs on allows.
    """

    Settings: ClassVar[type[JudgeSettings]]

    def __init__(self, settings: JudgeSettings):
        self.settings = settings

    @abstractmethod
    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        """One ruling per case, in order."""
