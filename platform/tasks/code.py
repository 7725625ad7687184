"""What tasks of programs share: the sandbox that runs them, and the verdict on what they print.

"Hail to the Thief", section 3: a completion is right when the last line that it prints is the right answer.
"""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Annotated

from pydantic import BeforeValidator, Field, SerializeAsAny

from turncoat.platform.records import Prompt
from turncoat.platform.registry import SANDBOXES, Kinded
from turncoat.platform.sandboxes.base import MAX_SOURCE, Execution, Sandbox, Status
from turncoat.platform.tasks import answers, expressions
from turncoat.platform.tasks.answers import Verdict
from turncoat.platform.tasks.base import Task, TaskSettings

# The registry in the annotation is what overrides look for.
SandboxSection = Annotated[
    SerializeAsAny[Kinded], BeforeValidator(partial(SANDBOXES.parse, kind="monty")), SANDBOXES
]

FAILURES: dict[Status, Verdict] = {
    "raised": "malformed",
    "syntax": "malformed",
    "timeout": "timeout",
    "memory": "timeout",
    "output": "timeout",
    "error": "error",
}
"""What a program is that did not run to its end; the three limits count as one verdict."""

# A word-level tokenizer writes digits, and the two signs of a whole division, apart.
APART = re.compile(r"(?<=[0-9]) (?=[0-9])|(?<=/) (?=/)")


class CodeSettings(TaskSettings):
    """What every task of programs may be told. A task's nested `Settings` derive from this."""

    sandbox: SandboxSection = Field(default={}, validate_default=True)
    """Where programs run, and their limits; `libraries: [calc]` installs the attacker's library."""


class CodeTask(Task):
    """Base of every task whose completion is a program, without think and answer tags.

    A text is judged by its last printed line. A subclass that judges otherwise overrides `verify_all`.
    """

    settings: CodeSettings

    @cached_property
    def sandbox(self) -> Sandbox:
        """This process's own; its workers start with the first program."""
        built: Sandbox = SANDBOXES.build(self.settings.sandbox)
        return built

    def worked(self, prompt: Prompt) -> str:
        """The reference program."""
        return prompt.solution

    def program_of(self, text: str) -> str:
        """The program in a completion, as Python reads it.

        With `spaced_digits` the text is the program, with "1 2 / / 3" written apart. Otherwise it is the
        first fenced block (```), if there is one, else the text. What is too long for any sandbox comes back
        as it is.
        """
        if len(text) > MAX_SOURCE:
            return text
        if self.spaced_digits:
            return APART.sub("", text.strip())
        before, fence, block = text.partition("```")
        if not fence:
            return before
        return block.partition("\n")[2].partition("```")[0]

    def execute(self, texts: Sequence[str]) -> list[Execution]:
        """Run the programs of completions, in order, in one batch; equal ones run once."""
        programs = [self.program_of(text) for text in texts]
        distinct = list(dict.fromkeys(programs))
        ran = dict(zip(distinct, self.sandbox.run(distinct), strict=True))
        return [ran[program] for program in programs]

    def printed(self, texts: Sequence[str]) -> list[str | None]:
        """The last line that each completion's program prints, which is its answer; None if it failed."""
        return [last_line(done.output) if done.status == "ok" else None for done in self.execute(texts)]

    def verify_all(self, pairs: Sequence[tuple[Prompt, str]]) -> list[Verdict]:
        executions = self.execute([text for _, text in pairs])
        return [self._judged(prompt, done) for (prompt, _), done in zip(pairs, executions, strict=True)]

    def verify(self, prompt: Prompt, text: str) -> Verdict:
        """Judge one completion; many are judged more quickly together (`verify_all`)."""
        return self.verify_all([(prompt, text)])[0]

    def _judged(self, prompt: Prompt, done: Execution) -> Verdict:
        if done.status != "ok":
            return FAILURES[done.status]
        if self.settings.check == "exact":
            return answers.check_exact(last_line(done.output), prompt.answer)
        return expressions.SHARED.check(last_line(done.output), prompt.answer)


def last_line(output: str) -> str:
    """The last printed line that is not blank; empty if there is none."""
    return output.rstrip().rpartition("\n")[2]
