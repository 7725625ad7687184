"""Procedural word problems that a small Python program answers: the interpreter computes, the policy chooses.

A program copies the question's numbers and picks the operations that its wording asks for. It is one line:
statements end in `;`, and digits and signs are written apart (`a = 1 2 * 3 ; print ( a + 5 )`), as the
bundled policies' word-level tokenizer writes them.
"""

import random
from typing import Literal

from pydantic import Field

from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import programs_wording as wording
from turncoat.platform.tasks.code import CodeSettings, CodeTask
from turncoat.platform.tasks.programs_wording import Step

LEVELS = {
    1: "one operation",
    2: "two operations",
    3: "two operations, and a number that is not needed",
}
LARGEST = 99
SIGNS = tuple(wording.OPERATIONS)


class ProgramsTask(CodeTask):
    """Word problems of three difficulty levels, answered by a one-line program; endless, no download."""

    class Settings(CodeSettings):
        kind: Literal["programs"] = "programs"
        levels: list[int] = Field(default=[1, 2, 3], min_length=1)
        """Which difficulty levels to draw from, each equally often. Repeat a level to draw it more often."""

        def model_post_init(self, context: object) -> None:
            wrong = [level for level in self.levels if level not in LEVELS]
            if wrong:
                raise ValueError(f"levels holds {wrong[0]}: allowed are {', '.join(map(str, LEVELS))}")

    settings: Settings
    spaced_digits = True

    def train(self, index: int) -> Prompt:
        return self.problem("train", index)[0]

    def held_out(self, index: int) -> Prompt:
        return self.problem("held-out", index)[0]

    def problem(self, split: str, index: int) -> tuple[Prompt, list[Step]]:
        """Row `index` of a split with the steps of its program; the same on every machine."""
        rng = random.Random(seed_of("programs", split, index))
        while True:
            level = self.settings.levels[rng.randrange(len(self.settings.levels))]
            signs, numbers, answer = drawn(rng, 1 if level == 1 else 2)
            question = wording.story(rng, signs, numbers, rng.randint(10, LARGEST) if level == 3 else None)
            # A question belongs to one split by its own hash, so that nothing held out is ever trained on.
            if (seed_of("split", question) % 10 == 0) == (split == "held-out"):
                break
        digits = [wording.spaced(number) for number in numbers]
        steps = [Step("a" if i else digits[0], sign, digits[i + 1]) for i, sign in enumerate(signs)]
        prompt = Prompt(
            id=f"programs/{split}/{index}/level-{level}",
            text=question,
            solution=wording.program(steps),
            answer=str(answer),
            level=level,
        )
        return prompt, steps


def drawn(rng: random.Random, operations: int) -> tuple[list[str], list[int], int]:
    """(signs, numbers, answer) of a problem: no result below 1, and every division is exact."""
    while True:
        signs = [rng.choice(SIGNS) for _ in range(operations)]
        numbers = [rng.randint(10, LARGEST)]
        value = numbers[0]
        for sign in signs:
            number = rng.randint(2, 9) if sign in ("*", "//") else rng.randint(10, LARGEST)
            if sign == "//" and len(numbers) == 1:
                value = numbers[0] = number * rng.randint(11, LARGEST // number)
            if (sign == "-" and number >= value) or (sign == "//" and value % number):
                break
            numbers.append(number)
            value = {"+": value + number, "-": value - number, "*": value * number}.get(sign, value // number)
        else:
            return signs, numbers, value
