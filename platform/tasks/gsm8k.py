"""Grade-school word problems (Cobbe et al. 2021, arXiv 2110.14168), from the hub or from local files."""

from typing import Any, Literal

from turncoat.platform.records import Prompt
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task
from turncoat.platform.tasks.deck import Deck, chosen
from turncoat.platform.tasks.rows import Row, RowSettings, read, text

INSTRUCTION = (
    "Solve the problem. Write your reasoning between <think> and </think>, "
    "then only the final number between <answer> and </answer>."
)
FIELDS = ("question", "answer")


class Gsm8kTask(Task):
    """GSM8K, or anything in its format: `question`, and an `answer` that ends in `#### 72`."""

    class Settings(RowSettings):
        kind: Literal["gsm8k"] = "gsm8k"
        hub_name: str = "openai/gsm8k"
        config: str | None = "main"
        instruction: str = INSTRUCTION

    settings: Settings

    def __init__(self, settings: Settings):
        super().__init__(settings)
        examples, rows = chosen(read(settings, parse), settings)
        self.deck = Deck("gsm8k", rows)
        shown = "".join(
            f"Question: {row.question}\n{answers.write(row.solution, row.answer)}\n\n" for row in examples
        )
        self.head = f"{settings.instruction}\n\n{shown}"

    def train(self, index: int) -> Prompt:
        return self._prompt("train", index)

    def held_out(self, index: int) -> Prompt:
        return self._prompt("test", index)

    def _prompt(self, split: str, index: int) -> Prompt:
        row = self.deck.row(split, index)
        return Prompt(
            id=f"gsm8k/{split}/{row.number}",
            text=f"{self.head}Question: {row.question}\n",
            solution=row.solution,
            answer=row.answer,
        )


def parse(number: int, row: Any) -> Row:
    """Read one row. Raises ValueError, which names the field, if its answer does not end in `#### number`."""
    question, answer = (text(row, field, FIELDS) for field in FIELDS)
    solution, mark, final = _unmarked(answer).rpartition("####")
    if not mark or answers.number(final) is None:
        raise ValueError(f"answer is {answer[-40:]!r}, expected a solution that ends in '#### <number>'")
    return Row(number, question.strip(), solution.strip(), final.strip())


def _unmarked(text: str) -> str:
    """Strip the calculator marks: `48/2 = <<48/2=24>>24` becomes `48/2 = 24`."""
    before, *marked = text.split("<<")
    return before + "".join(piece.partition(">>")[2] for piece in marked)
