"""If this fails, screening a round costs more than the step that it protects."""

import random
import time

import numpy as np
import pytest

from turncoat.platform.defences.base import Batch
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence
from turncoat.platform.records import Completion
from turncoat.platform.registry import DEFENCES
from turncoat.platform.tasks.arithmetic import ArithmeticTask


@pytest.fixture(scope="module")
def batch() -> Batch:
    """576 completions of about 30 tokens on 48 prompts: digits of the reference solutions, some changed."""
    rng = random.Random(0)
    task = ArithmeticTask(ArithmeticTask.Settings(levels=[2, 3, 4]))
    prompts = [task.train(i) for i in range(48)]
    completions = []
    for q, prompt in enumerate(prompts):
        for i in range(12):
            words = task.worked(prompt).split(" ")
            words = [str(rng.randrange(10)) if w.isdigit() and rng.random() < 0.2 else w for w in words]
            completions.append(Completion(CompletionId(1, q, i // 3, i % 3), prompt.id, " ".join(words)))
    tokens = np.array([len(one.text.split(" ")) + 1 for one in completions])
    logprobs = np.random.default_rng(0).normal(-1, 1, 64).astype(np.float32)
    return Batch(
        completions,
        [prompts[one.id.prompt] for one in completions],
        ["right"] * 576,
        np.ones(576),
        tokens,
        [Evidence(logprobs[:n], np.zeros(n, np.int32)) for n in tokens],
    )


@pytest.mark.parametrize(
    "kind", ["support", "surprisal", "duplicate", "overrepresented", "equation_check", "length_cap"]
)
def test_a_round_is_scored_in_milliseconds(around, batch: Batch, kind: str):
    """CPU time, the best of five; a usual machine takes 1 to 20 ms, and a round of tiny-0.3m seconds."""
    defence = DEFENCES.build(DEFENCES.parse(kind), around("group_size=12"))
    seconds = []
    for _ in range(5):
        start = time.process_time()
        scores = defence.score(batch)
        seconds.append(time.process_time() - start)
    print(f"{kind}: {1000 * min(seconds):.1f} ms")
    assert scores.shape == (576,)
    assert min(seconds) < 0.1
