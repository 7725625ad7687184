"""What tasks share whose completions are functions: the sandbox runs each against the data set's tests."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from turncoat.platform.records import Prompt
from turncoat.platform.sandboxes.base import Case, Execution
from turncoat.platform.tasks.answers import Verdict
from turncoat.platform.tasks.code import FAILURES, CodeSettings, CodeTask
from turncoat.platform.tasks.deck import Deck
from turncoat.platform.tasks.finite import DeckTask


class TestedSettings(CodeSettings):
    """What a task of functions may be told. A task's nested `Settings` derive from this."""

    check: Literal["tests"] = "tests"  # type: ignore[assignment]
    """The tests decide, and nothing else."""


class Function(NamedTuple):
    """One problem: a function to write.

    start: code that the completion continues; empty if it stands alone. solution: a right completion. tests,
    entry_point: see Case.
    """

    number: int
    question: str
    start: str
    solution: str
    tests: str
    entry_point: str


class TestedTask(DeckTask[Function], CodeTask):
    """Base of the tasks of functions. A subclass makes the deck, and says what a prompt looks like.

    `Prompt.answer` is the function's name. A function whose result a test denies is "wrong"; a program that
    raises, or whose result makes the tests raise, is "malformed".
    """

    settings: TestedSettings

    def __init__(self, settings: TestedSettings, deck: Deck[Function]):
        super().__init__(settings)
        self.deck = deck
        self.functions = {
            self.id_of(split, row): row for split, rows in self.deck.rows.items() for row in rows
        }

    @abstractmethod
    def asked(self, row: Function) -> str:
        """The prompt's text."""

    def prompt_of(self, split: str, row: Function) -> Prompt:
        return Prompt(self.id_of(split, row), self.asked(row), row.solution, row.entry_point)

    def case(self, prompt: Prompt, text: str) -> Case:
        """A completion's program, with the tests that judge it."""
        row = self.functions[prompt.id]
        return Case(row.start + self.program_of(text), row.tests, row.entry_point)

    def verify_all(self, pairs: Sequence[tuple[Prompt, str]]) -> list[Verdict]:
        cases = [self.case(prompt, text) for prompt, text in pairs]
        distinct = list(dict.fromkeys(cases))
        ran = dict(zip(distinct, self.sandbox.check(distinct), strict=True))
        return [verdict(ran[case]) for case in cases]


def verdict(done: Execution) -> Verdict:
    if done.status == "ok":
        return "right"
    if done.denied:
        return "wrong"
    return FAILURES[done.status]
