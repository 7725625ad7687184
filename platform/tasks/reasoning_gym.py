"""Any data set of the package reasoning-gym (Stojanovski et al. 2025, arXiv 2505.24760): no download.

The package runs in a child process (gym_child.py), with one seed for Python's hashes: some data sets follow
the order of sets, and would otherwise be others in every process.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.answers import Verdict
from turncoat.platform.tasks.base import Task, TaskSettings
from turncoat.platform.tasks.child import LimitedChild

INSTRUCTION = (
    "Solve the problem. Write your reasoning between <think> and </think>, "
    "then only the final answer between <answer> and </answer>."
)
CHILD = str(Path(__file__).with_name("gym_child.py"))

SIZE = 100_000
"""Items to draw from, of both splits together."""

MAX_TRIES = 10_000
"""Items that are looked at for one prompt."""

SPARE_CHARS = 1024
"""An answer that is longer than four times the reference and this is wrong without a look at it."""


class ReasoningGymTask(Task):
    """`reasoning_gym:<name>`: a data set of that package, such as chain_sum, with its own scorer."""

    class Settings(TaskSettings):
        kind: Literal["reasoning_gym"] = "reasoning_gym"
        dataset: str
        """Its name in the package. `kind: reasoning_gym:chain_sum` says both."""
        options: dict[str, JsonValue] = Field(default_factory=dict)
        """The data set's own options, e.g. {max_terms: 2, max_digits: 2}. `size`: how many items there are,
        a quarter of them held out; 100,000 by default.
        """
        check: Literal["score", "exact"] = "score"  # type: ignore[assignment]
        """score: the data set's own scorer gives 1. exact: the reference's text, or a number equal to it."""
        instruction: str = INSTRUCTION
        """What the prompt begins with."""
        few_shot: int = Field(0, ge=0, le=16)
        """How many worked examples the prompt holds."""
        max_solution_chars: int | None = Field(None, ge=1)
        """Leave out problems with longer reference reasoning."""

    settings: Settings

    def __init__(self, settings: Settings):
        super().__init__(settings)
        if find_spec("reasoning_gym") is None:
            raise BadInput(
                "task.kind: 'reasoning_gym' needs the package reasoning-gym: pip install 'turncoat[tasks]'"
            )
        self.options: dict[str, Any] = {"seed": 0, "size": SIZE, **settings.options}
        self.child = LimitedChild(
            CHILD, settings.dataset, json.dumps(self.options), environment={"PYTHONHASHSEED": "0"}
        )
        self._open()
        self.shown: set[str] = set()
        examples = [self._prompt("example", i) for i in range(settings.few_shot)]
        self.shown = {one.text for one in examples}
        self.head = settings.instruction + "\n\n"
        for one in examples:
            self.head += f"Question: {one.text}\n{self.worked(one)}\n\n"

    def train(self, index: int) -> Prompt:
        return self._asked(self._prompt("train", index))

    def held_out(self, index: int) -> Prompt:
        return self._asked(self._prompt("held-out", index))

    def verify(self, prompt: Prompt, text: str) -> Verdict:
        parts = answers.read(text)
        if parts is None:
            return "malformed"
        answer = parts[1]
        if len(answer) > 4 * len(prompt.answer) + SPARE_CHARS:
            return "wrong"
        if self.settings.check == "exact":
            value = answers.number(answer)
            same = answer == prompt.answer
            return (
                "right" if same or (value is not None and value == answers.number(prompt.answer)) else "wrong"
            )
        right = self.child.ask(["score", int(prompt.id.rpartition("/")[2]), answer])
        return "error" if right is None else "right" if right else "wrong"

    def _open(self) -> None:
        """Start the child. Raises BadInput if there is no such data set, or none that can be verified."""
        name = self.settings.dataset
        found = self._ask("open")
        if "refused" in found:
            raise BadInput(found["refused"])
        if not found["referenced"]:
            raise BadInput(f"task.dataset: {name!r} has no reference answers, expected is one that has")
        if self.settings.check == "score" and found["evaluates"]:
            raise BadInput(
                f"task.check: 'score' would run what peers answer to {name!r} as Python, allowed is 'exact'"
            )
        if self.settings.check == "score" and not found["right"]:
            raise BadInput(
                f"task.check: the scorer of {name!r} rejects its own reference, allowed is 'exact'"
            )

    def _ask(self, *question: Any) -> Any:
        reply = self.child.ask(question)
        if reply is None:
            raise BadInput(
                f"task.dataset: {self.settings.dataset!r} failed to make an item with {self.options}"
            )
        return reply

    def _asked(self, prompt: Prompt) -> Prompt:
        text = f"{self.head}Question: {prompt.text}\n"
        return Prompt(prompt.id, text, prompt.solution, prompt.answer, topic=self.settings.dataset)

    def _prompt(self, split: str, index: int) -> Prompt:
        """Row `index` of a split, its text the bare question: the first fitting one of its own draws."""
        limit = self.settings.max_solution_chars
        for draw in range(MAX_TRIES):
            number = seed_of("reasoning_gym", split, index, draw) % self.options["size"]
            question, answer, solution = self._ask("item", number)
            question = question.strip()
            # A question belongs to one split by its own hash, so that nothing held out is ever trained on.
            held = seed_of("split", question) % 4 == 0
            if (
                held == (split == "held-out")
                and question not in self.shown
                and (limit is None or len(solution) <= limit)
            ):
                name = f"reasoning_gym/{self.settings.dataset}/{split}/{number}"
                return Prompt(name, question, solution, answer.strip())
        raise BadInput(
            f"task.dataset: {self.settings.dataset!r} has no {split} problem in {MAX_TRIES} draws, expected "
            f"are several questions within task.max_solution_chars = {limit}"
        )
