"""The work that every contestant does in one step, and how it is counted.

A step: sample G completions of exactly L tokens for each of B prompts, verify their texts, and take one GRPO
update on all of them. Contestants share prompts, sampling, loss and optimiser; float32, one thread.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.tokens import control_ids
from turncoat.platform.records import Prompt
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TEMPERATURE, TOP_K = 1.0, 16
BETA1, BETA2, CLIP_NORM, CLIP_RATIO = 0.9, 0.99, 1.0, 0.2
# So small that the policy hardly moves: all repetitions meet the same lengths and the same share of signal.
LEARNING_RATE = 1e-7


@dataclass(frozen=True)
class Work:
    """B prompts, G completions of each, L new tokens; `shots` worked examples stand before each question."""

    policy: str
    prompts: int
    group: int
    length: int
    shots: int = 0
    levels: tuple[int, ...] = (2, 3, 4)

    @property
    def task(self) -> ArithmeticTask:
        return ArithmeticTask(ArithmeticTask.Settings(levels=list(self.levels)))

    def questions(self, round: int = 0) -> list[Prompt]:
        """The round's B prompts, behind the same worked examples."""
        task, first = self.task, round * self.prompts
        examples = [task.train(10**6 + i) for i in range(self.shots)]
        head = "".join(f"{one.text}\n{task.worked(one)}\n\n" for one in examples)
        rows = [task.train(first + i) for i in range(self.prompts)]
        return [Prompt(one.id, head + one.text, one.solution, one.answer, one.level) for one in rows]


class Policies:
    """Copies of one loaded policy, one for each contestant."""

    def __init__(self, name: str):
        self.model, self.tokenizer = load_policy(name)

    def copy(self) -> tuple[Any, Any]:
        return copy.deepcopy(self.model), copy.deepcopy(self.tokenizer)


def forbidden(tokenizer: Any) -> list[int]:
    """Tokens that no contestant may sample: those that would end a completion, or vanish from its text."""
    return sorted(control_ids(tokenizer) | set(tokenizer.all_special_ids))


def synthetic_rewards(work: Work, questions: Sequence[Prompt], texts: Sequence[str]) -> list[float]:
    """Verify all texts as in earnest, then reward every other completion, so that every group has signal."""
    task = work.task
    for index, text in enumerate(texts):
        task.verify(questions[index // work.group], text)
    return [float(index % 2) for index in range(len(texts))]
