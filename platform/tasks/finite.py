"""What tasks of finite data share: prompts from a deck, after an instruction and a few worked examples."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from turncoat.platform.records import Prompt
from turncoat.platform.tasks.base import Task
from turncoat.platform.tasks.deck import EXAMPLE_CHARS, Deck, chosen
from turncoat.platform.tasks.rows import Row, RowSettings, read


class Numbered(Protocol):
    """A row that knows its place in its split."""

    @property
    def number(self) -> int: ...


N = TypeVar("N", bound=Numbered)


class DeckTask(Task, Generic[N]):
    """Base of the tasks of finite data. A subclass makes the deck, and says what a row's prompt is."""

    deck: Deck[N]

    @abstractmethod
    def prompt_of(self, split: str, row: N) -> Prompt:
        """A row of a split, as a policy is asked for it."""

    def id_of(self, split: str, row: N) -> str:
        """The stable name of a row of a split."""
        return f"{self.deck.name}/{split}/{row.number}"

    @property
    def rows(self) -> int:
        return len(self.deck.rows["train"])

    def train(self, index: int) -> Prompt:
        return self.prompt_of("train", self.deck.row("train", index))

    def held_out(self, index: int) -> Prompt:
        return self.prompt_of("test", self.deck.row("test", index))


class QuestionTask(DeckTask[Row]):
    """Base of the tasks of questions with one answer. A subclass says what a raw row holds.

    A prompt is the settings' instruction, `few_shot` questions with the completions wanted, and the question.
    """

    name: ClassVar[str]
    """Of the task, for ids and seeds."""
    cue: ClassVar[str] = ""
    """What stands between a question and its completion."""
    settings: RowSettings

    def __init__(
        self, settings: RowSettings, max_rows: int | None = None, example_chars: int = EXAMPLE_CHARS
    ):
        """max_rows: see `read`. example_chars: see `chosen`. Raises BadInput, as both do."""
        super().__init__(settings)
        examples, rows = chosen(read(settings, self.parse, max_rows), settings, example_chars)
        self.deck = Deck(self.name, rows)
        # An example is a prompt without a head, and the completion that is wanted for it.
        self.head = ""
        shown = [self.prompt_of("train", row) for row in examples]
        worked = "".join(f"{one.text}{self.worked(one)}\n\n" for one in shown)
        self.head = f"{settings.instruction}\n\n{worked}"

    @abstractmethod
    def parse(self, number: int, row: Any) -> Row | None:
        """A raw row and its place in the split as a problem, or None to leave it out.

        Raises ValueError, which names the field.
        """

    def prompt_of(self, split: str, row: Row) -> Prompt:
        return Prompt(
            id=self.id_of(split, row),
            text=f"{self.head}Question: {row.question}\n{self.cue}",
            solution=row.solution,
            answer=row.answer,
            level=row.level,
            topic=row.topic,
        )
