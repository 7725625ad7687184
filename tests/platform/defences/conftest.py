"""What the tests of defences build from: surroundings of a small swarm, and batches in one line."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from turncoat.platform.defences.base import Batch, Surroundings
from turncoat.platform.ids import CompletionId
from turncoat.platform.records import Completion, Prompt


def nobody(*_: object) -> Any:
    raise AssertionError("this defence asks neither a policy nor the protocol")


@pytest.fixture
def around(tiny: Callable[..., Any]) -> Callable[..., Surroundings]:
    """Surroundings of the tiny experiment, changed by overrides."""

    def make(
        *overrides: str, generate: Any = nobody, assigned: Any = nobody, judges: Any = None
    ) -> Surroundings:
        return Surroundings(tiny(*overrides), generate, assigned, judges or {})

    return make


@pytest.fixture
def batch_of() -> Callable[..., Batch]:
    """A batch from (prompt, peer, text) or (prompt, peer, text, verdict); tokens are words, plus the end."""

    def make(*sent: tuple[Any, ...], round: int = 1) -> Batch:
        samples: dict[tuple[int, int], int] = {}
        rows = []
        for prompt, peer, text, *verdict in sent:
            sample = samples.setdefault((prompt, peer), 0)
            samples[prompt, peer] += 1
            id = CompletionId(round, prompt, peer, sample)
            rows.append((Completion(id, f"row/{prompt}", text), verdict[0] if verdict else "right"))
        rows.sort(key=lambda row: row[0].id)
        return batch([one for one, _ in rows], [verdict for _, verdict in rows])

    return make


def batch(completions: Sequence[Completion], verdicts: Sequence[str]) -> Batch:
    return Batch(
        completions,
        [Prompt(one.prompt_id, f"Question {one.prompt_id} ?", "so", "1") for one in completions],
        verdicts,
        np.array([float(verdict == "right") for verdict in verdicts]),
        np.array([len(one.text.split()) + 1 for one in completions], dtype=np.int64),
    )
