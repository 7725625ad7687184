"""What a task is: numbered prompts in two splits, reference completions, and a verifier."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from turncoat.platform.records import Prompt
from turncoat.platform.registry import Kinded
from turncoat.platform.tasks import answers, expressions
from turncoat.platform.tasks.answers import Verdict


class TaskSettings(Kinded):
    """What every task may be told. A task's nested `Settings` derive from this."""

    check: Literal["exact", "expression"] = "exact"
    """Compare answers as exact rational numbers, or by math-verify, where an expression can be expected."""


class Task(ABC):
    """Base of every task, built as `cls(settings)`. Rows are the same on every machine and in every process.

    A subclass says what its rows are; the strict format and the verifier are shared.
    """

    Settings: ClassVar[type[TaskSettings]]
    spaced_digits: ClassVar[bool] = False
    """White space between digits has no meaning in this task's texts: "8 5" is 85."""

    def __init__(self, settings: TaskSettings):
        self.settings = settings

    @property
    def rows(self) -> int | None:
        """How many training rows there are until they come round again; None: they never do."""
        return None

    @abstractmethod
    def train(self, index: int) -> Prompt:
        """Training prompt `index` >= 0. There is no last one: finite data wrap around, reshuffled."""

    @abstractmethod
    def held_out(self, index: int) -> Prompt:
        """Held-out prompt `index` >= 0, never one of the training prompts."""

    def worked(self, prompt: Prompt) -> str:
        """The reference completion, in the strict format."""
        return answers.write(prompt.solution, prompt.answer)

    def verify(self, prompt: Prompt, text: str) -> Verdict:
        """Judge one completion: its format first, then its answer. Quick on hostile text of any length."""
        parts = answers.read(text)
        if parts is None:
            return "malformed"
        if self.settings.check == "exact":
            return answers.check_exact(parts[1], prompt.answer, self.spaced_digits)
        return expressions.SHARED.check(parts[1], prompt.answer)

    def verify_all(self, pairs: Sequence[tuple[Prompt, str]]) -> list[Verdict]:
        """Judge many completions, in order. Tasks that run programs do it in one batch."""
        return [self.verify(prompt, text) for prompt, text in pairs]
