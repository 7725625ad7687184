"""The column by which rows are dealt: level, topic, the solution's length, or another field of a prompt."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from turncoat.platform.config.errors import BadInput
from turncoat.platform.records import Prompt
from turncoat.platform.registry import unknown
from turncoat.platform.tasks.base import Task

Value = int | str

LENGTH = "length"
"""Names the length of the reference solution in characters, by quantiles."""

SAMPLE = 1024
"""Endless data are judged by their first so many training rows."""

LABEL_CHARS = 24
"""Of a value in a label: a column may be a whole text."""

VALUES = SAMPLE // 4
"""An endless column with more values in the sample has most of them outside it."""


class Column:
    """The values of one column over a task's training rows. A row may have none: level 0, or topic "".

    counts: value -> how many rows of finite data, or of the sample of endless data, have it. bounds: the
    least length of each quantile but the first.
    """

    def __init__(self, task: Task, name: str, quantiles: int = 1):
        """name: "length", or a field of Prompt. quantiles: of "length"; fewer where lengths are equal.

        Raises BadInput if there is no such field, if no row has a value, or if endless data have too many.
        """
        self.task = task
        self.name = name
        columns = [LENGTH, *(field.name for field in fields(task.train(0)))]
        if name not in columns:
            raise BadInput(f"partition.column: {unknown(name, columns, 'column')}")
        raw = [self._raw(task.train(row)) for row in range(SAMPLE if task.rows is None else task.rows)]
        self.bounds = quantiles_of([one for one in raw if isinstance(one, int)], quantiles)
        self.values = [self._binned(one) for one in raw]
        self.counts = Counter(value for value in self.values if value is not None)
        kind = task.settings.kind
        if not self.counts:
            raise BadInput(f"partition: no training row of the task {kind!r} has a {name}, expected are some")
        if task.rows is None and len(self.counts) > VALUES:
            raise BadInput(
                f"partition.column: {name!r} has {len(self.counts)} values in {SAMPLE} rows of the endless "
                f"task {kind!r}, allowed are at most {VALUES}"
            )

    def value(self, row: int) -> Value | None:
        """The value of a training row; None if it has none."""
        if self.task.rows is None:
            return self._binned(self._raw(self.task.train(row)))
        return self.values[row]

    def label(self, value: Value) -> str:
        """`level 3`, `length 20-41`."""
        if self.name != LENGTH or not isinstance(value, int):
            return f"{self.name} {' '.join(str(value).split())[:LABEL_CHARS]}"
        low = self.bounds[value - 1] if value else 0
        return f"length {low}-{self.bounds[value] - 1}" if value < len(self.bounds) else f"length {low}+"

    def _raw(self, prompt: Prompt) -> Value | None:
        if self.name == LENGTH:
            return len(prompt.solution)
        value = getattr(prompt, self.name)
        return (value if isinstance(value, int | str) else str(value)) or None

    def _binned(self, value: Value | None) -> Value | None:
        return bisect_right(self.bounds, value) if self.name == LENGTH else value  # type: ignore[type-var]


def quantiles_of(values: Sequence[int], quantiles: int) -> list[int]:
    """The least value of each quantile but the first, distinct and sorted."""
    ordered = sorted(values)
    return sorted({ordered[len(ordered) * i // quantiles] for i in range(1, quantiles) if ordered})
