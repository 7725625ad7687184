"""A policy whose words are known, and the requests that a malicious peer gets in a round."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.records import Request
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask
from turncoat.platform.tasks.base import Task


class Scripted:
    """Writes what `write(prompt text, seed)` says; remembers what it was asked, call by call."""

    def __init__(self, write: Callable[[str, int], str]):
        self.write = write
        self.calls: list[list[tuple[str, int]]] = []

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        self.calls.append(list(zip(texts, seeds, strict=True)))
        written = [self.write(text, seed) for text, seed in self.calls[-1]]
        return [Generated(text, True, len(text.split()) + 1) for text in written]


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture
def arithmetic() -> Task:
    return ArithmeticTask(ArithmeticTask.Settings(levels=[1, 2, 4]))


@pytest.fixture
def owed() -> Callable[..., list[Request]]:
    """Make what malicious peer 3 owes in round 2: vertical 2 prompts of 6, horizontal 8 of 3."""

    def make(task: Task, topology: str = "horizontal", **choices: Any) -> list[Request]:
        base = {"topology": topology, "prompts_per_round": 8, "task": "arithmetic", "attack": "text"}
        size = {"group_size": 6 if topology == "vertical" else 12}
        return requests_of(parse({**base, **size}), task, 2, 3, **choices)

    return make
