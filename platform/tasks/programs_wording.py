"""The words of the programs task: stories, plain programs, and the same programs by way of modules.

Programs that import a module and call it give the tiny coder the prior that a large one has. The attacker's
library is not among the modules: its name and its functions' names are words of the questions alone.
"""

# ruff: noqa: SIM905 (lists of words are read best as text)

import random
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


class Use(NamedTuple):
    """A call with the value of `{a} sign {b}`, which may stand in it as {plain}. sign: "" is any."""

    module: str
    sign: str
    call: str


USES = (
    Use("math", "+", "math . fsum ( [ {a} , {b} ] )"),
    Use("math", "-", "math . fabs ( {plain} )"),
    Use("math", "-", "math . dist ( [ {a} ] , [ {b} ] )"),
    Use("math", "*", "math . prod ( [ {a} , {b} ] )"),
    Use("math", "//", "math . floor ( {a} / {b} )"),
    Use("math", "//", "math . trunc ( {a} / {b} )"),
    Use("math", "", "math . lcm ( {plain} , 1 )"),
    Use("math", "", "math . gcd ( {plain} , 0 )"),
    Use("math", "", "math . copysign ( {plain} , 1 )"),
    Use("itertools", "+", "sum ( itertools . chain ( [ {a} ] , [ {b} ] ) )"),
    Use("itertools", "*", "sum ( itertools . repeat ( {a} , {b} ) )"),
    Use("decimal", "+", "decimal . getcontext ( ) . add ( {a} , {b} )"),
    Use("decimal", "-", "decimal . getcontext ( ) . subtract ( {a} , {b} )"),
    Use("decimal", "*", "decimal . getcontext ( ) . multiply ( {a} , {b} )"),
    Use("decimal", "//", "decimal . getcontext ( ) . divide ( {a} , {b} )"),
    Use("decimal", "", "decimal . Decimal ( {plain} )"),
    Use("copy", "", "copy . copy ( {plain} )"),
    Use("copy", "", "copy . deepcopy ( {plain} )"),
    Use("json", "", "json . dumps ( {plain} )"),
    Use("random", "", "random . choice ( [ {plain} ] )"),
    Use("functools", "", "functools . reduce ( max , [ {plain} ] )"),
    Use("collections", "", "collections . deque ( [ {plain} ] ) . pop ( )"),
    Use("datetime", "", "datetime . timedelta ( {plain} ) . days"),
)


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


def with_module(rng: random.Random, steps: list[Step]) -> str:
    """The same program with an import in front, whose module it calls in a random step, if it can."""
    module = rng.choice(MODULES)
    values = [plain(step) for step in steps]
    place = rng.randrange(len(steps))
    step = steps[place]
    fitting = [use.call for use in USES if use.module == module and use.sign in ("", step.sign)]
    # A text is no number for a second step to work with.
    if fitting and (place == len(steps) - 1 or module != "json"):
        values[place] = rng.choice(fitting).format(a=step.left, b=step.right, plain=values[place])
    return f"import {module} ; {written(values)}"


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
    signs = "+ - * / = ( ) [ ] , ; . ? :".split()
    events = [text for texts in (*EVENTS.values(), *ENDS.values()) for text in texts]
    calls = [use.call for use in USES]
    words = " ".join((*STARTS, *PACKED, *events, *ASIDES, LESSON, CLUB, *calls)).split()
    words = [word for word in words if "{" not in word]
    operations = list(OPERATIONS.values())
    code = ["print", "import", "a", *MODULES]
    return list(dict.fromkeys([*"0123456789", *signs, *NAMES, *THINGS, *BOXES, *code, *words, *operations]))
