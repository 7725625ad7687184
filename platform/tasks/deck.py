"""What a finite data set becomes: examples for the prompt, and two splits in a fixed, shuffled order."""

import random
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.tasks.rows import Asked, RowSettings

EXAMPLE_CHARS = 160
"""The longest solution of an example in the prompt: every completion pays for the prompt's length."""


class Solved(Asked, Protocol):
    """A row with a reference solution."""

    @property
    def solution(self) -> str: ...


T = TypeVar("T")
S = TypeVar("S", bound=Solved)


class Deck(Generic[T]):
    """The rows of both splits. Equal on every machine, whatever was asked of it before."""

    def __init__(self, name: str, rows: Mapping[str, Sequence[T]]):
        """name: of the task, for its seeds."""
        self.name = name
        self.rows = rows
        self._shuffled: tuple[int, list[int]] = (-1, [])

    def row(self, split: str, index: int) -> T:
        """Row `index` >= 0 of a split. There is no last one: each epoch is shuffled anew."""
        epoch, place = divmod(index, len(self.rows[split]))
        return self.rows[split][self._order(split, epoch)[place]]

    def _order(self, split: str, epoch: int) -> list[int]:
        """The epoch's permutation of a split's rows. The last one is kept: neighbours ask for the same."""
        seed = seed_of(self.name, split, epoch)
        if self._shuffled[0] != seed:
            order = list(range(len(self.rows[split])))
            random.Random(seed).shuffle(order)
            self._shuffled = (seed, order)
        return self._shuffled[1]


def chosen(
    rows: Mapping[str, Sequence[S]], settings: RowSettings, example_chars: int = EXAMPLE_CHARS
) -> tuple[list[S], dict[str, list[S]]]:
    """(the examples of the prompt, the rows of both splits within the settings).

    No row is both an example and a prompt, and no question of "test" is in "train". Raises BadInput if too
    few are left.
    """
    short = [row for row in rows["train"] if len(row.solution) <= example_chars]
    examples = short[: settings.few_shot]
    limit = settings.max_solution_chars
    shown = {row.question for row in examples}
    held = {row.question for row in rows["test"]}
    kept = {
        split: [
            row
            for row in part
            if row.question not in (shown if split == "test" else shown | held)
            and (limit is None or len(row.solution) <= limit)
        ]
        for split, part in rows.items()
    }
    for split, part in kept.items():
        if not part or len(examples) < settings.few_shot:
            raise BadInput(
                f"task.path: {settings.path or settings.hub_name!r} has too few problems in its {split} "
                f"split, expected are task.few_shot = {settings.few_shot} with solutions of at most "
                f"{example_chars} characters, and more within task.max_solution_chars = {limit}"
            )
    return examples, kept
