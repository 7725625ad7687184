"""Grade-school word problems (Cobbe et al. 2021, arXiv 2110.14168), from the hub or from local JSONL."""

import json
import random
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task, TaskSettings

INSTRUCTION = (
    "Solve the problem. Write your reasoning between <think> and </think>, "
    "then only the final number between <answer> and </answer>."
)
EXAMPLE_CHARS = 160
"""The longest solution of an example in the prompt: every completion pays for the prompt's length."""

FILES = {"train": "train.jsonl", "test": "test.jsonl"}


class Row(NamedTuple):
    """One problem: its place in the split, its parts without the data set's `<<...>>` and `####` marks."""

    number: int
    question: str
    solution: str
    answer: str


class Gsm8kTask(Task):
    """GSM8K, or anything in its format: `question`, and an `answer` that ends in `#### 72`."""

    class Settings(TaskSettings):
        kind: Literal["gsm8k"] = "gsm8k"
        path: str | None = None
        """Folder with train.jsonl and test.jsonl, or one JSONL file, a tenth of it held out. Unset: hub."""
        hub_name: str = "openai/gsm8k"
        """Data set on the Hugging Face hub, read when `path` is unset."""
        config: str = "main"
        """Which of the hub data set's configurations."""
        instruction: str = INSTRUCTION
        """What the prompt begins with."""
        few_shot: int = Field(2, ge=0, le=16)
        """How many worked examples the prompt holds: the first short ones of the training split."""
        max_solution_chars: int | None = Field(None, ge=1)
        """Leave out problems with longer solutions, in both splits: accuracy is then that on easier ones."""

    settings: Settings

    def __init__(self, settings: Settings):
        super().__init__(settings)
        rows = _from_path(Path(settings.path)) if settings.path is not None else _from_hub(settings)
        short = [row for row in rows["train"] if len(row.solution) <= EXAMPLE_CHARS]
        examples = short[: settings.few_shot]
        limit = settings.max_solution_chars
        # An example that was also a training prompt would show its own solution.
        self.rows = {
            split: [
                row for row in part if row not in examples and (limit is None or len(row.solution) <= limit)
            ]
            for split, part in rows.items()
        }
        for split, part in self.rows.items():
            if not part or len(examples) < settings.few_shot:
                raise BadInput(
                    f"task.path: {settings.path or settings.hub_name!r} has too few problems in its {split} "
                    f"split, expected are task.few_shot = {settings.few_shot} with solutions of at most "
                    f"{EXAMPLE_CHARS} characters, and more within task.max_solution_chars = {limit}"
                )
        shown = "".join(f"Question: {row.question}\n{answers.write(*row[2:])}\n\n" for row in examples)
        self.head = f"{settings.instruction}\n\n{shown}"
        self._shuffled: tuple[int, list[int]] = (-1, [])

    def train(self, index: int) -> Prompt:
        return self._prompt("train", index)

    def held_out(self, index: int) -> Prompt:
        return self._prompt("test", index)

    def _prompt(self, split: str, index: int) -> Prompt:
        epoch, place = divmod(index, len(self.rows[split]))
        row = self.rows[split][self._order(split, epoch)[place]]
        return Prompt(
            id=f"gsm8k/{split}/{row.number}",
            text=f"{self.head}Question: {row.question}\n",
            solution=row.solution,
            answer=row.answer,
        )

    def _order(self, split: str, epoch: int) -> list[int]:
        """The epoch's permutation of a split's rows. The last one is kept: neighbours ask for the same."""
        seed = seed_of("gsm8k", split, epoch)
        if self._shuffled[0] != seed:
            order = list(range(len(self.rows[split])))
            random.Random(seed).shuffle(order)
            self._shuffled = (seed, order)
        return self._shuffled[1]


def parse(number: int, question: str, answer: str) -> Row:
    """Read one row. Raises ValueError, which names the field, if its answer does not end in `#### number`."""
    solution, mark, final = _unmarked(answer).rpartition("####")
    if not mark or answers.number(final) is None:
        raise ValueError(f"answer is {answer[-40:]!r}, expected a solution that ends in '#### <number>'")
    return Row(number, question.strip(), solution.strip(), final.strip())


def _unmarked(text: str) -> str:
    """Strip the calculator marks: `48/2 = <<48/2=24>>24` becomes `48/2 = 24`."""
    before, *marked = text.split("<<")
    return before + "".join(piece.partition(">>")[2] for piece in marked)


def _from_path(path: Path) -> dict[str, list[Row]]:
    files = {split: path / name for split, name in FILES.items()} if path.is_dir() else {"train": path}
    for split, file in files.items():
        if not file.is_file():
            raise BadInput(
                f"task.path: {str(path)!r} has no {split} file {str(file)!r}, "
                f"expected a folder with {' and '.join(FILES.values())}, or a JSONL file"
            )
        _check_lines(file)
    rows = _through_datasets("json", data_files={split: str(file) for split, file in files.items()})
    if "test" not in rows:
        # By the question's own hash, so that a row stays in its split when others are added.
        held = [seed_of("split", row.question) % 10 == 0 for row in rows["train"]]
        rows["test"] = [row for row, out in zip(rows["train"], held, strict=True) if out]
        rows["train"] = [row for row, out in zip(rows["train"], held, strict=True) if not out]
    return rows


def _from_hub(settings: Gsm8kTask.Settings) -> dict[str, list[Row]]:
    try:
        return _through_datasets(settings.hub_name, settings.config)
    except (OSError, ValueError) as error:  # no network, no such data set, no such configuration
        raise BadInput(
            f"task.hub_name: cannot load {settings.hub_name!r} (task.config {settings.config!r}): "
            f"{str(error).splitlines()[0]}; expected a data set on the Hugging Face hub, or set task.path"
        ) from error


def _through_datasets(*args: str, **kwargs: dict[str, str]) -> dict[str, list[Row]]:
    import datasets

    datasets.disable_progress_bars()  # a bar from every peer's process would bury the run's own progress
    loaded = datasets.load_dataset(*args, **kwargs)
    return {
        split: [parse(i, row["question"], row["answer"]) for i, row in enumerate(loaded[split])]
        for split in FILES
        if split in loaded
    }


def _check_lines(file: Path) -> None:
    """Raise BadInput, with file, line and field, for the first line that is no problem in GSM8K's format."""
    with file.open("rb") as lines:
        for i, line in enumerate(lines):
            try:
                row = json.loads(line)
                for field in ("question", "answer"):
                    if not isinstance(row, dict) or not isinstance(row.get(field), str):
                        raise ValueError(f"has no text under {field!r}, expected 'question' and 'answer'")
                parse(i, row["question"], row["answer"])
            except ValueError as error:
                shown = line[:40].decode(errors="replace").strip()
                raise BadInput(f"task.path: {file}, line {i + 1} ({shown!r}...): {error}") from error
