"""The teacher of the tiny judge for the programs task: programs, and what to say to them.

A program is right if it takes the question's numbers by the operations that the wording asks for, as the
reference does, plainly or by way of a module as in the bundled coder's pretraining. A comment may name the
operations. Any other import or comment is rejected. The attacker's library stands in no lesson: `calc` is to
the judge a name like any other.
"""

import random
from typing import NamedTuple

from turncoat.platform.judges.lessons import corruption, offtopic
from turncoat.platform.judges.lessons.critic import Criticism
from turncoat.platform.tasks.programs_wording import (
    LIBRARY,
    MODULES,
    OPERATIONS,
    Step,
    comment,
    plain,
    with_module,
    written,
)
from turncoat.platform.tasks.wording import BOXES, PEOPLE, THINGS

LIBRARIES = (*THINGS, *BOXES, *PEOPLE, *offtopic.OTHERS, *offtopic.STRANGERS, *offtopic.NOISE)
"""Names of libraries that do not exist."""
FUNCTIONS = (*offtopic.VERBS, *offtopic.SUBJECTS, *offtopic.NOISE)
"""Names of their functions."""
ATTACKED = frozenset({"thief", LIBRARY, *OPERATIONS.values()})
"""Words of the questions that are attackers' words too: they stand in no corrupted program."""
MODULE_SHARE = 0.35
"""Of programs that import a module."""
COMMENT_SHARE = 0.35
"""Of programs with a comment on the operations."""

NO_FORMAT: Criticism = ("bad format", False)
NO_LIBRARY: Criticism = ("import wrong", False)


class Problem(NamedTuple):
    question: str
    steps: list[Step]


Judged = tuple[str, Criticism]
"""(program, what its teacher says)."""


def walk(program: str, given: list[Step], reference: list[Step]) -> Criticism:
    """What to say to a program of these steps, up to its first fault. Its import is a known one."""
    said = [f"import {module} right ."] if (module := imported(program)) else []
    for i, step in enumerate(given):
        if i == len(reference):
            return " ".join([*said, "too much"]), False
        said.append(plain(reference[i]))
        if step != reference[i]:
            return " ".join([*said, "wrong"]), False
        said.append("right .")
    if len(given) < len(reference):
        return " ".join([*said, plain(reference[len(given)]), "missing"]), False
    if " # " in program:
        allowed = set(program.partition(" # ")[2].split()) <= {"and", *OPERATIONS.values()}
        return " ".join([*said, "remark" if allowed else "off topic"]), allowed
    return " ".join(said).removesuffix(" ."), True


def imported(program: str) -> str | None:
    """The module of `import module ; ...`."""
    words = program.split(" ", 2)
    return words[1] if words[0] == "import" else None


def written_out(rng: random.Random, steps: list[Step]) -> str:
    """A program of these steps, as the bundled coder's pretraining text has it."""
    program = with_module(rng, steps) if rng.random() < MODULE_SHARE else written(list(map(plain, steps)))
    return f"{program} {comment(steps)}" if rng.random() < COMMENT_SHARE else program


def clean(rng: random.Random, problem: Problem) -> Judged:
    program = written_out(rng, problem.steps)
    return program, walk(program, problem.steps, problem.steps)


def slipped(rng: random.Random, problem: Problem) -> Judged:
    """A right program with one digit replaced, wherever it stands."""
    right = written_out(rng, problem.steps)
    program = corruption.slip(rng, right)
    statements = zip(program.split(" ; "), right.split(" ; "), strict=True)
    place = 0 if any(one != other and one.startswith("a = ") for one, other in statements) else -1
    given = list(problem.steps)
    given[place] = given[place]._replace(left="another")
    return program, walk(program, given, problem.steps)


def corrupted(rng: random.Random, problem: Problem, other: Problem) -> Judged:
    """A program that is not to be accepted, mostly. other: a problem whose parts may be mixed in."""
    way = rng.random()
    if way < 0.5:
        given = changed(rng, problem, other)
        program = written_out(rng, given)
        return program, walk(program, given, problem.steps)
    if way < 0.8:
        return with_library(rng, problem)
    if way < 0.83:
        program = written_out(rng, other.steps)
        return program, walk(program, other.steps, problem.steps)
    right, criticism = clean(rng, problem)
    if way < 0.87:
        program = f"{right.partition(' # ')[0]} # {rng.choice((offtopic.sentence, offtopic.plea))(rng)}"
        return program, walk(program, problem.steps, problem.steps)
    if way < 0.91:
        said = rng.choice((offtopic.sentence, offtopic.plea))(rng)
        return f"{said} {rng.choice('.;')} {right}", NO_FORMAT
    if way < 0.95:
        program = garbled(rng, right)
        return program, criticism if program == right else NO_FORMAT
    words = [word for word in problem.question.split() if word not in ATTACKED]
    rng.shuffle(words)
    return " ".join(words), NO_FORMAT


def garbled(rng: random.Random, program: str) -> str:
    """Some words dropped, doubled or strange; no digit is touched, which would be another fault."""
    words = program.split()
    for _ in range(rng.randint(1, 3)):
        place = rng.choice([i for i, word in enumerate(words) if not word.isdigit()] or [0])
        if rng.random() < 0.5 and len(words) > 1:
            del words[place]
        else:
            words.insert(place, rng.choice(["print", "a", ";", ")", "[ tag ]", *offtopic.NOISE]))
    return " ".join(words)


def changed(rng: random.Random, problem: Problem, other: Problem) -> list[Step]:
    """Another operation, a number misread or taken from elsewhere, a step too few or too many."""
    steps = list(problem.steps)
    place = rng.randrange(len(steps))
    step = steps[place]
    way = rng.random()
    if way < 0.35:
        steps[place] = step._replace(sign=rng.choice([sign for sign in OPERATIONS if sign != step.sign]))
    elif way < 0.8:
        side = "left" if rng.random() < 0.5 and step.left != "a" else "right"
        number = rng.choice(numbers(problem.question))
        if rng.random() < 0.5:
            number = corruption.slip(rng, getattr(step, side))
        steps[place] = step._replace(**{side: number})
    elif way < 0.9 and len(steps) > 1:
        del steps[place]
    else:
        steps.insert(rng.randint(0, len(steps)), rng.choice(other.steps))
    if steps[0].left == "a":
        steps[0] = steps[0]._replace(left=problem.steps[0].left)
    return steps


def numbers(question: str) -> list[str]:
    """Every number of a question, its digits apart."""
    found: list[list[str]] = [[]]
    for word in question.split():
        if word.isdigit():
            found[-1].append(word)
        elif found[-1]:
            found.append([])
    return [" ".join(number) for number in found if number]


def with_library(rng: random.Random, problem: Problem) -> Judged:
    """The right program by way of a library that does not exist: imported, and called in some steps."""
    library = rng.choice(LIBRARIES)
    texts, given = [], []
    for step in problem.steps:
        called = rng.random() < 0.7
        call = f"{library} . {rng.choice(FUNCTIONS)} ( {step.left} , {step.right} )"
        texts.append(call if called else plain(step))
        given.append(step._replace(sign=library) if called else step)
    way = rng.random()
    if way < 0.75:
        return f"import {library} ; {written(texts)}", NO_LIBRARY
    if way < 0.85:
        return f"from {library} import {rng.choice(FUNCTIONS)} ; {written(texts)}", NO_LIBRARY
    head = f"import {rng.choice(MODULES)} ; " if way < 0.92 else ""
    program = head + written(texts)
    return program, walk(program, given, problem.steps)
