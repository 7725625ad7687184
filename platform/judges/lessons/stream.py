"""Endless lessons for the tiny judge: a solution, right or corrupted, and what its teacher says to it."""

import random
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from turncoat.platform.ids import seed_of
from turncoat.platform.judges.lessons import code, corruption, critic, offtopic
from turncoat.platform.judges.lessons.critic import Criticism
from turncoat.platform.tasks import programs_wording, wording
from turncoat.platform.tasks.arithmetic import ArithmeticTask
from turncoat.platform.tasks.programs import ProgramsTask


class Lesson(NamedTuple):
    """What the judge is given, and what it is to write."""

    asked: str
    verdict: str


def lesson(question: str, solution: str, criticism: Criticism) -> Lesson:
    text, accepted = criticism
    verdict = f"<criticism> {text} </criticism> <decision> {'yes' if accepted else 'no'} </decision>"
    return Lesson(f"{question} <solution> {solution} </solution>", verdict)


def arithmetic(
    seed: int, slips: float = 0.0, clean_share: float = 0.42, remark_share: float = 0.4
) -> Iterator[Lesson]:
    """On problems of every level of the arithmetic task's training split.

    slips: share of the corrupted solutions in which one digit is another, and that is all.
    """
    task = ArithmeticTask(ArithmeticTask.Settings())
    rng = random.Random(seed_of("judge-arithmetic", seed))
    for index in count():
        prompt, other = task.train(index), task.train(rng.randrange(1 << 30))
        if rng.random() < clean_share:
            solution = corruption.clean(prompt)
        elif rng.random() < slips:
            solution = corruption.slip(rng, corruption.clean(prompt))
        else:
            solution = corruption.corrupted(rng, prompt, other)
        if rng.random() < remark_share:
            solution = solution.replace("<think> ", f"<think> {wording.remark(rng)} ", 1)
        yield lesson(prompt.text, solution, critic.criticise(prompt, solution))


def programs(seed: int, slips: float = 0.0, clean_share: float = 0.45) -> Iterator[Lesson]:
    """On problems of every level of the programs task's training split. slips: as for arithmetic."""
    task = ProgramsTask(ProgramsTask.Settings())
    rng = random.Random(seed_of("judge-programs", seed))
    for index in count():
        problem = problem_of(task, index)
        if rng.random() < clean_share:
            program, criticism = code.clean(rng, problem)
        elif rng.random() < slips:
            program, criticism = code.slipped(rng, problem)
        else:
            program, criticism = code.corrupted(rng, problem, problem_of(task, rng.randrange(1 << 30)))
        yield lesson(problem.question, program, criticism)


def problem_of(task: ProgramsTask, index: int) -> code.Problem:
    prompt, steps = task.problem("train", index)
    return code.Problem(prompt.text, steps)


def solving(seed: int, remark_share: float = 0.5) -> Iterator[Lesson]:
    """No judgement: what is written is a worked solution, as in the pretraining of the bundled policies."""
    task = ArithmeticTask(ArithmeticTask.Settings())
    rng = random.Random(seed_of("judge-solving", seed))
    for index in count():
        prompt = task.train(index)
        solution = corruption.clean(prompt)
        if rng.random() < remark_share:
            solution = solution.replace("<think> ", f"<think> {wording.remark(rng)} ", 1)
        yield Lesson(prompt.text, solution)


def mixed(
    seed: int, programs_share: float = 0.4, solving_share: float = 0.0, slips: float = 0.0
) -> Iterator[Lesson]:
    """Each kind drawn with its share; the rest are judgements of arithmetic."""
    rng = random.Random(seed_of("judge-mixture", seed))
    judging, of_programs, solutions = arithmetic(seed, slips), programs(seed, slips), solving(seed)
    while True:
        draw = rng.random()
        if draw < programs_share:
            yield next(of_programs)
        else:
            yield next(solutions if draw < programs_share + solving_share else judging)


def vocabulary() -> list[str]:
    """Every word of questions, solutions, criticisms and the bank of other English, in a fixed order."""
    marks = ("[", "]", "tag", "cut")
    words = (*wording.vocabulary(), *programs_wording.vocabulary(), "from", *offtopic.vocabulary())
    return list(dict.fromkeys([*words, *critic.TAGS, *critic.WORDS, *marks]))
