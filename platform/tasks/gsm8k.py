"""Grade-school word problems (Cobbe et al. 2021, arXiv 2110.14168), from the hub or from local files."""

from typing import Any, Literal

from turncoat.platform.tasks import answers
from turncoat.platform.tasks.finite import QuestionTask
from turncoat.platform.tasks.rows import Row, RowSettings, text

INSTRUCTION = (
    "Solve the problem. Write your reasoning between <think> and </think>, "
    "then only the final number between <answer> and </answer>."
)
FIELDS = ("question", "answer")


class Gsm8kTask(QuestionTask):
    """GSM8K, or anything in its format: `question`, and an `answer` that ends in `#### 72`."""

    class Settings(RowSettings):
        kind: Literal["gsm8k"] = "gsm8k"
        hub_name: str = "openai/gsm8k"
        config: str | None = "main"
        instruction: str = INSTRUCTION

    name = "gsm8k"
    settings: Settings

    def parse(self, number: int, row: Any) -> Row:
        return parse(number, row)


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
