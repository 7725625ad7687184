"""Procedural word problems in English whose solutions work digit by digit, as on paper.

Each level composes few facts (digit sums with a carry, digit differences with a borrow, times tables up to
five), so that a policy of a million parameters can learn them and reinforcement does not erase them. Digits
are tokens of their own and are written apart ("8 5" is eighty-five).
"""

import random
from typing import Literal

from pydantic import Field

from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import wording
from turncoat.platform.tasks.base import Task, TaskSettings

LEVELS = {
    1: "one-digit sums and products",
    2: "two-digit sums with carry",
    3: "two-digit differences with borrow",
    4: "three-digit sums with carry",
    5: "two digits times one digit",
}


class ArithmeticTask(Task):
    """Word problems of five difficulty levels with a worked solution; endless, no download."""

    class Settings(TaskSettings):
        kind: Literal["arithmetic"] = "arithmetic"
        levels: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1)
        """Which difficulty levels to draw from, each equally often. Repeat a level to draw it more often."""

        def model_post_init(self, context: object) -> None:
            wrong = [level for level in self.levels if level not in LEVELS]
            if wrong:
                raise ValueError(f"levels holds {wrong[0]}: allowed are {', '.join(map(str, LEVELS))}")

    settings: Settings
    spaced_digits = True

    def train(self, index: int) -> Prompt:
        return self.problem("train", index)

    def held_out(self, index: int) -> Prompt:
        return self.problem("held-out", index)

    def problem(self, split: str, index: int) -> Prompt:
        """Row `index` of a split: the same on every machine, and independent of `levels`' other rows."""
        rng = random.Random(seed_of("arithmetic", split, index))
        while True:
            level = self.settings.levels[rng.randrange(len(self.settings.levels))]
            question, solution, answer = OF_LEVEL[level](rng)
            # A question belongs to one split by its own hash, so that nothing held out is ever trained on.
            if (seed_of("split", question) % 10 == 0) == (split == "held-out"):
                break
        return Prompt(
            id=f"arithmetic/{split}/{index}/level-{level}",
            text=question,
            solution=solution,
            answer=spaced(answer),
            level=level,
        )


def spaced(number: int) -> str:
    """`85` -> `8 5`: each digit a token of its own."""
    return " ".join(str(number))


def column_sum(a: int, b: int) -> str:
    """The steps of adding two numbers of equal length from the right, e.g. `7 + 8 = 1 5 . 4 + 3 + 1 = 8 .`"""
    steps, carry = [], 0
    for x, y in zip(reversed(str(a)), reversed(str(b)), strict=True):
        total = int(x) + int(y) + carry
        steps.append(f"{x} + {y}{' + 1' if carry else ''} = {spaced(total)} .")
        carry = total // 10
    return " ".join(steps)


def column_difference(a: int, b: int) -> str:
    """The steps of taking b from a (both two digits, a > b), e.g. `1 3 - 8 = 5 . 6 - 1 - 2 = 3 .`"""
    (a1, a0), (b1, b0) = divmod(a, 10), divmod(b, 10)
    borrow = a0 < b0
    units = f"{spaced(a0 + 10 * borrow)} - {b0} = {a0 + 10 * borrow - b0} ."
    return f"{units} {a1}{' - 1' if borrow else ''} - {b1} = {a1 - borrow - b1} ."


def level_1(rng: random.Random) -> tuple[str, str, int]:
    if rng.random() < 0.5:
        a, b = rng.randint(2, 9), rng.randint(2, 9)
        return wording.sum_question(rng, a, b), f"{a} + {b} = {spaced(a + b)} .", a + b
    a, b = rng.randint(2, 9), rng.randint(2, 5)
    return wording.product_question(rng, a, b), f"{a} * {b} = {spaced(a * b)} .", a * b


def level_2(rng: random.Random) -> tuple[str, str, int]:
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    return wording.sum_question(rng, a, b), column_sum(a, b), a + b


def level_3(rng: random.Random) -> tuple[str, str, int]:
    b = rng.randint(10, 89)
    a = rng.randint(b + 1, 99)
    return wording.difference_question(rng, a, b), column_difference(a, b), a - b


def level_4(rng: random.Random) -> tuple[str, str, int]:
    a, b = rng.randint(100, 999), rng.randint(100, 999)
    return wording.sum_question(rng, a, b), column_sum(a, b), a + b


def level_5(rng: random.Random) -> tuple[str, str, int]:
    a, b = rng.randint(11, 99), rng.randint(2, 5)
    tens, units = divmod(a, 10)
    low = units * b
    high = tens * b
    steps = [f"{units} * {b} = {spaced(low)} .", f"{tens} * {b} = {spaced(high)} ."]
    if low >= 10:
        steps.append(f"{spaced(high)} + {low // 10} = {spaced(high + low // 10)} .")
    return wording.product_question(rng, a, b), " ".join(steps), a * b


OF_LEVEL = {1: level_1, 2: level_2, 3: level_3, 4: level_4, 5: level_5}
