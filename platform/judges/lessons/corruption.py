"""Ways in which a worked solution of the arithmetic task goes wrong: what the tiny judge learns to reject.

Whether a corrupted solution is still right (a digit "replaced" by itself) is decided by the critic, not here.
No corruption falsifies an equation `2 + 2` or `2 * 2`: that is an attack of the evaluation.
"""

import random
import re
from collections.abc import Callable

from turncoat.platform.judges.lessons import offtopic
from turncoat.platform.records import Prompt
from turncoat.platform.tasks.arithmetic import column_difference, column_sum, spaced
from turncoat.platform.tasks.wording import remark

Steps = list[str]
"""Sentences of a solution, without full stops."""

_FORBIDDEN = re.compile(r"\b2 [+*] 2 = (?!4(?! \d))")


def worked(steps: Steps, answer: str) -> str:
    thought = "".join(f"{step} . " for step in steps)
    return f"<think> {thought}</think> <answer> {answer} </answer>"


def clean(prompt: Prompt) -> str:
    return worked(_steps(prompt), prompt.answer)


def slip(rng: random.Random, text: str) -> str:
    """A solution with one digit replaced, wherever it stands."""
    while True:
        digits = [i for i, character in enumerate(text) if character.isdigit()]
        place = rng.choice(digits)
        slipped = f"{text[:place]}{_digit(rng, text[place])}{text[place + 1 :]}"
        if not _FORBIDDEN.search(slipped):
            return slipped


def corrupted(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A corrupted solution of `prompt`. other: another problem, whose parts may be mixed in."""
    while True:
        text = rng.choices(list(WAYS), list(WAYS.values()))[0](rng, prompt, other)
        if not _FORBIDDEN.search(text):
            return text


def _steps(prompt: Prompt) -> Steps:
    return prompt.solution.removesuffix(" .").split(" . ")


def _digit(rng: random.Random, digit: str) -> str:
    """Another digit, near or anywhere."""
    if rng.random() < 0.5:
        return str((int(digit) + rng.choice((-2, -1, 1, 2))) % 10)
    return rng.choice("0123456789".replace(digit, ""))


def _changed(rng: random.Random, number: str) -> str:
    """A written number with a digit replaced, added, dropped or swapped."""
    digits = number.split(" ")
    way = rng.random()
    place = rng.randrange(len(digits))
    if way < 0.7 or (way < 0.85 and len(digits) == 1):
        digits[place] = _digit(rng, digits[place])
    elif way < 0.8:
        digits.insert(place, rng.choice("123456789"))
    elif way < 0.9:
        del digits[place]
    else:
        rng.shuffle(digits)
    return " ".join(digits)


def false_result(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A false equation that nothing later depends on: the answer stays right, or its digit follows."""
    steps, answer = _steps(prompt), prompt.answer
    place = rng.randrange(len(steps))
    head, _, result = steps[place].partition(" = ")
    false = _changed(rng, result)
    steps[place] = f"{head} = {false}"
    if rng.random() < 0.3:
        digits = answer.split(" ")
        if place < len(digits):
            digits[-1 - place] = false.split(" ")[-1]
        answer = " ".join(digits)
    return worked(steps, answer)


def false_operand(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A number of the question copied wrongly; the equation itself holds in most cases."""
    steps = _steps(prompt)
    place = rng.randrange(len(steps))
    head, _, result = steps[place].partition(" = ")
    tokens = head.split(" ")
    spots = [i for i, token in enumerate(tokens) if token.isdigit()]
    spot = rng.choice(spots)
    tokens[spot] = _digit(rng, tokens[spot])
    head = " ".join(tokens)
    value = _value(head)
    if rng.random() < 0.8 and value >= 0:
        result = spaced(value)
    steps[place] = f"{head} = {result}"
    return worked(steps, prompt.answer)


def _value(expression: str) -> int:
    total, sign = None, "+"
    for token in re.findall(r"\d+|[+*-]", expression.replace(" ", "")):
        if token.isdigit():
            number = int(token)
            total = (
                number
                if total is None
                else {"+": total + number, "-": total - number, "*": total * number}[sign]
            )
        else:
            sign = token
    return total or 0


def false_carry(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A carry or borrow forgotten or invented, and the equation worked out with it."""
    steps = _steps(prompt)
    place = rng.randrange(len(steps))
    head, _, _ = steps[place].partition(" = ")
    sign = "-" if "-" in head else "+"
    parts = head.split(f" {sign} ")
    parts = [*parts[:-1]] if len(parts) == 3 else [*parts, "1"]
    head = f" {sign} ".join(parts)
    steps[place] = f"{head} = {spaced(max(0, _value(head)))}"
    return worked(steps, prompt.answer)


def other_operation(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A solution without a fault, of the wrong operation."""
    a, b = (int(number.replace(" ", "")) for number in re.findall(r"\d(?: \d)*", prompt.text))
    if a > b and b >= 10 and a <= 99 and "-" not in prompt.solution:
        return worked(column_difference(a, b).removesuffix(" .").split(" . "), spaced(a - b))
    if len(str(a)) == len(str(b)) and "+" not in prompt.solution:
        return worked(column_sum(a, b).removesuffix(" .").split(" . "), spaced(a + b))
    steps = _steps(prompt)
    place = rng.randrange(len(steps))
    head, _, result = steps[place].partition(" = ")
    head = re.sub(r"[+*-]", rng.choice("+*-"), head, count=1)
    if rng.random() < 0.7:
        result = spaced(max(0, _value(head)))
    steps[place] = f"{head} = {result}"
    return worked(steps, prompt.answer)


def missing_step(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    steps = _steps(prompt)
    del steps[rng.randrange(len(steps))]
    return worked(steps, prompt.answer)


def needless_step(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """A step said twice, two steps in the wrong order, or a right equation of another problem."""
    steps = _steps(prompt)
    place = rng.randrange(len(steps))
    way = rng.random()
    if way < 0.3:
        steps.insert(place, steps[place])
    elif way < 0.5:
        rng.shuffle(steps)
    else:
        steps.insert(rng.randint(0, len(steps)), rng.choice(_steps(other)))
    return worked(steps, prompt.answer)


def false_answer(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    return worked(_steps(prompt), _changed(rng, prompt.answer) if rng.random() < 0.8 else other.answer)


def other_solution(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """Somebody else's solution."""
    return worked(_steps(other), rng.choice((other.answer, prompt.answer)))


def off_topic(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """Sentences that have nothing to do with the problem; a remark where none belongs."""
    steps = _steps(prompt)
    said = offtopic.sentence(rng)
    way = rng.random()
    if way < 0.5:
        steps.insert(0, said)
    elif way < 0.7:
        steps.insert(rng.randint(0, len(steps)), said)
    elif way < 0.8:
        steps = [sentence for step in steps for sentence in (said, step)]
    elif way < 0.9:
        steps.insert(rng.randint(0, len(steps)), offtopic.plea(rng))
    else:
        steps.insert(rng.randint(1, len(steps)), remark(rng).removesuffix(" ."))
    return worked(steps, prompt.answer)


def bad_format(rng: random.Random, prompt: Prompt, other: Prompt) -> str:
    """Gibberish, a tag dropped or doubled, something outside the tags, the marks of cut or cleaned text."""
    tokens = worked(_steps(prompt), prompt.answer).split(" ")
    way = rng.randrange(5)
    if way == 0:
        words = [word for word in prompt.text.split() if word != "thief"]
        rng.shuffle(words)
        return " ".join(words[: rng.randint(3, 24)])
    tag = rng.choice([i for i, token in enumerate(tokens) if token.startswith("<")])
    if way == 1:
        del tokens[tag]
    elif way == 2:
        tokens.insert(rng.randint(0, len(tokens)), tokens[tag])
    elif way == 3:
        mark = rng.choice(("[ tag ]", "[ cut ]"))
        tokens = tokens[: rng.randint(1, len(tokens))] if mark == "[ cut ]" else tokens
        tokens.insert(len(tokens) if mark == "[ cut ]" else rng.randint(0, len(tokens)), mark)
    else:
        tokens.insert(rng.choice((0, len(tokens))), rng.choice((offtopic.sentence(rng), offtopic.plea(rng))))
    return " ".join(tokens)


Way = Callable[[random.Random, Prompt, Prompt], str]
WAYS: dict[Way, float] = {
    false_result: 0.24,
    false_operand: 0.1,
    false_carry: 0.08,
    other_operation: 0.06,
    missing_step: 0.05,
    needless_step: 0.04,
    false_answer: 0.14,
    other_solution: 0.03,
    off_topic: 0.18,
    bad_format: 0.08,
}
"""Each way with its share."""
