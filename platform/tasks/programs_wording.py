"""The words of the programs task: stories, plain programs, and the same programs by way of modules.

Programs that import a module and call it give the tiny coder the prior that a large one has. The attacker's
library is not among the modules: its name is a word of questions, and its functions' names are words of
questions and comments.
"""

# ruff: noqa: SIM905 (lists of words are read best as text)

import random
from collections.abc import Mapping
from typing import NamedTuple

from turncoat.platform.tasks.wording import BOXES, NAMES, THINGS

OPERATIONS = {"+": "addition", "-": "subtraction", "*": "multiplication", "//": "division"}
"""Sign in a program -> its name in English, which is also the name of the attacker's function."""
LIBRARY = "calc"
"""The attacker's library, in questions the name of a club. No pretraining text imports it."""

STARTS = (
    "{name} has {a} {things} .",
    "There are {a} {things} on the table .",
    "{name} buys {a} {things} .",
    "A shop has {a} {things} .",
)
PACKED = (
    "{name} has {b} {boxes} of {a} {things} .",
    "There are {b} {boxes} with {a} {things} in each .",
    "{name} buys {b} {boxes} . Each holds {a} {things} .",
)
"""A start that is a product already."""
EVENTS = {
    "+": (
        "{other} brings {b} more .",
        "{name} finds {b} more .",
        "Then {b} more are added .",
        "{other} puts {b} more there .",
    ),
    "-": (
        "{name} gives {b} to {other} .",
        "A thief takes {b} .",
        "Then {b} are lost .",
        "{other} breaks {b} of them .",
    ),
    "*": (
        "Then there are {b} times as many .",
        "{other} needs {b} times as many .",
    ),
    "//": (
        "They are shared by {b} friends .",
        "{other} puts them in {b} equal {boxes} .",
    ),
}
ENDS = {
    "+": ("How many {things} are there now ?", "How many {things} is that ?"),
    "-": ("How many {things} are left ?", "How many {things} are there now ?"),
    "*": ("How many {things} is that ?", "How many {things} is that in all ?"),
    "//": ("How many {things} is that for each ?", "How many {things} are in each ?"),
}
"""The question, by the last operation."""
ASIDES = (
    "{other} has {d} {others} .",
    "{name} finds {d} {others} .",
    "{other} brings {d} {others} .",
    "{name} gives {d} {others} to {other} .",
    "A thief takes {d} {others} .",
    "Then {d} {others} are lost .",
)
"""Sentences about other things: their numbers are not needed."""
LESSON = "From a lesson on {operation} :"
CLUB = f"From the {LIBRARY} club :"

MODULES = (
    "binascii bisect collections copy csv dataclasses datetime decimal functools hashlib itertools json "
    "math random re time tomllib typing unicodedata"
).split()
"""What pretraining programs import: in the standard library, and in every sandbox."""


CALLS: dict[str, Mapping[str, tuple[str, ...]]] = {
    "math": {
        "+": ("math . fsum ( ( {a} , {b} ) )", "math . fsum ( [ {a} , {b} ] )"),
        "-": ("math . dist ( [ {a} ] , [ {b} ] )", "math . fabs ( {plain} )"),
        "*": ("math . prod ( ( {a} , {b} ) )", "math . prod ( [ {a} , {b} ] )"),
        "//": ("math . floor ( {a} / {b} )", "math . trunc ( {a} / {b} )"),
    },
    "itertools": {
        "+": ("sum ( itertools . chain ( [ {a} ] , [ {b} ] ) )",),
        "*": ("sum ( itertools . repeat ( {a} , {b} ) )",),
    },
    "copy": dict.fromkeys(OPERATIONS, ("copy . copy ( {plain} )", "copy . deepcopy ( {plain} )")),
    "random": dict.fromkeys(OPERATIONS, ("random . choice ( [ {plain} ] )",)),
    "functools": dict.fromkeys(OPERATIONS, ("functools . reduce ( max , [ {plain} ] )",)),
    "collections": dict.fromkeys(OPERATIONS, ("collections . deque ( [ {plain} ] ) . pop ( )",)),
    "datetime": dict.fromkeys(OPERATIONS, ("datetime . timedelta ( {plain} ) . days",)),
}
"""Module -> sign -> calls with the value of `{a} sign {b}`, which as a whole is {plain}."""
VERBS = {"+": "add", "-": "subtract", "*": "multiply", "//": "divide"}
"""Methods of a decimal context: a name and two numbers, as the attacker's library has it."""


class Step(NamedTuple):
    """`left sign right`, operands as they stand in the program: digits apart, or the letter of a result."""

    left: str
    sign: str
    right: str


def spaced(number: int) -> str:
    """`85` -> `8 5`: each digit a token of its own."""
    return " ".join(str(number))


def plain(step: Step) -> str:
    """`1 2 + 3 4`; the two signs of `//` are tokens of their own."""
    return f"{step.left} {' '.join(step.sign)} {step.right}"


def program(steps: list[Step]) -> str:
    """The reference program of one or two steps: `a = 1 2 * 3 4 ; print ( a + 5 )`."""
    return written([plain(step) for step in steps])


def written(values: list[str]) -> str:
    *before, last = values
    return " ".join([*(f"a = {value} ;" for value in before), f"print ( {last} )"])


def slip(rng: random.Random, steps: list[Step]) -> list[Step]:
    """The steps with one mistake: another operation, or one digit of a number wrong."""
    place = rng.randrange(len(steps))
    step = steps[place]
    if rng.random() < 0.3:
        step = step._replace(sign=rng.choice([sign for sign in OPERATIONS if sign != step.sign]))
    else:
        side = "right" if place or rng.random() < 0.5 else "left"
        digits = getattr(step, side).split()
        at = rng.randrange(len(digits))
        # Neither the same again nor a first 0, which is no number in Python.
        digits[at] = rng.choice([digit for digit in "123456789" if digit != digits[at]])
        step = step._replace(**{side: " ".join(digits)})
    return [*steps[:place], step, *steps[place + 1 :]]


def with_module(rng: random.Random, steps: list[Step]) -> str:
    """The same program with an import in front, of a module that it mostly calls."""
    way = rng.random()
    if way < 0.5:
        return with_decimal(rng, steps)
    module = rng.choice(list(CALLS) if way < 0.75 else MODULES)
    fitting = CALLS.get(module, {})
    values = [
        rng.choice(fitting.get(step.sign, ("{plain}",))).format(a=step.left, b=step.right, plain=plain(step))
        for step in steps
    ]
    return f"import {module} ; {written(values)}"


def with_decimal(rng: random.Random, steps: list[Step]) -> str:
    """The same program on the methods of a decimal context, which has a name or not."""
    context = "decimal . Context ( )"
    named = rng.random() < 0.5
    target = "d" if named else context
    values = [f"{target} . {VERBS[step.sign]} ( {step.left} , {step.right} )" for step in steps]
    return f"import decimal ; {f'd = {context} ; ' if named else ''}{written(values)}"


def comment(steps: list[Step]) -> str:
    """`# multiplication and addition`: the operations in words, after a program."""
    return "# " + " and ".join(OPERATIONS[step.sign] for step in steps)


def story(rng: random.Random, signs: list[str], numbers: list[int], aside: int | None) -> str:
    """The question: a start, one event for each further sign, perhaps an aside, and what is asked.

    numbers: one more than signs. A first "*" may be told by its start.
    """
    name, other = rng.sample(NAMES, 2)
    things, others = rng.sample(THINGS, 2)
    words = {"name": name, "other": other, "things": things, "others": others, "boxes": rng.choice(BOXES)}
    packed = signs[0] == "*" and rng.random() < 0.7
    first, rest = (rng.choice(PACKED), 1) if packed else (rng.choice(STARTS), 0)
    sentences = [first.format(a=spaced(numbers[0]), b=spaced(numbers[1]), **words)]
    for sign, number in list(zip(signs, numbers[1:], strict=True))[rest:]:
        sentences.append(rng.choice(EVENTS[sign]).format(b=spaced(number), **words))
    if aside is not None:
        place = rng.randint(0, len(sentences))
        sentences.insert(place, rng.choice(ASIDES).format(d=spaced(aside), **words))
    sentences.append(rng.choice(ENDS[signs[-1]]).format(**words))
    heading = rng.random()
    if heading < 0.12:
        sentences.insert(0, LESSON.format(operation=OPERATIONS[rng.choice(signs)]))
    elif heading < 0.16:
        sentences.insert(0, CLUB)
    return " ".join(sentences)


def vocabulary() -> list[str]:
    """Every word of questions and programs, in a fixed order; the attacker's library too."""
    signs = "+ - * / = ( ) [ ] , ; . ? : #".split()
    events = [text for texts in (*EVENTS.values(), *ENDS.values()) for text in texts]
    calls = [text for ways in CALLS.values() for texts in ways.values() for text in texts]
    words = " ".join((*STARTS, *PACKED, *events, *ASIDES, LESSON, CLUB, *calls)).split()
    words = [word for word in words if "{" not in word]
    operations = list(OPERATIONS.values())
    code = ["print", "import", "a", "d", "and", "Context", *VERBS.values(), *MODULES]
    return list(dict.fromkeys([*"0123456789", *signs, *NAMES, *THINGS, *BOXES, *code, *words, *operations]))
