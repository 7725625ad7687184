"""A toy task, endless or finite, and partitions of it."""

from collections.abc import Callable
from typing import Any, Literal

import pytest

from turncoat.platform.records import Prompt
from turncoat.platform.registry import PARTITIONS
from turncoat.platform.tasks.base import Task, TaskSettings

TOPICS = ("algebra", "geometry", "sums")


class Toy(Task):
    """Rows of five levels, three topics and solutions of 1 to 20 characters; each 50th row has no level."""

    class Settings(TaskSettings):
        kind: Literal["toy"] = "toy"

    def __init__(self, rows: int | None, **fixed: Any):
        """fixed: fields of Prompt that are equal in all rows."""
        super().__init__(self.Settings())
        self._rows = rows
        self.fixed = fixed

    @property
    def rows(self) -> int | None:
        return self._rows

    def train(self, index: int) -> Prompt:
        fields = {
            "solution": "x" * (1 + index * 7 % 20),
            "answer": "1",
            "level": 0 if index % 50 == 49 else index % 5 + 1,
            "topic": TOPICS[index % 3],
        }
        return Prompt(id=f"toy/{index}", text=f"q{index}", **fields | self.fixed)

    held_out = train


@pytest.fixture
def toy() -> type[Toy]:
    return Toy


@pytest.fixture
def build() -> Callable[..., Any]:
    def make(section: Any, task: Task, clients: int = 5, seed: int = 0) -> Any:
        return PARTITIONS.build(PARTITIONS.parse(section), task, clients, seed)

    return make
