"""The child of the reasoning_gym task, run as a script: makes items and scores answers with the package.

Scorers read a peer's text without a bound of their own (`1e999999999` as an exact fraction), so each answer
has a limit of processor time, and the process one of memory. It keeps the user's rights: see `evaluates`.
"""

import difflib
import inspect
import json
import re
import sys
from dataclasses import fields
from functools import lru_cache
from typing import Any

from turncoat.platform.tasks.child import Questions, cpu_limit

CPU_SECONDS = 2.0
"""For one answer; usual ones take microseconds."""

_EVALUATES = re.compile(r"\b(?:eval|exec|parse_expr|sympify)\((?!entry)")


def made(name: str, options: dict[str, Any]) -> Any:
    """The data set. Raises ValueError with the line for the user."""
    from reasoning_gym.factory import DATASETS, create_dataset

    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"task.dataset: unknown data set {name!r} of reasoning-gym{hint}")
    known = [field.name for field in fields(DATASETS[name][1])]
    for option in options:
        if option not in known:
            raise ValueError(f"task.options holds {option!r}: allowed for {name!r} are {', '.join(known)}")
    try:
        return create_dataset(name, **options)
    except (AssertionError, TypeError, ValueError) as error:
        raise ValueError(f"task.options: {name!r} takes no {options}: {error}") from error


def evaluates(dataset: Any) -> bool:
    """Whether its scorer hands the answer to Python's parser, so that a peer's text could do anything."""
    return _EVALUATES.search(inspect.getsource(type(dataset).score_answer)) is not None


def worked(item: dict[str, Any]) -> str:
    """The reference reasoning: the data set's own, or what its expression says; empty if it has neither."""
    metadata = item["metadata"]
    reasoning, expression = metadata.get("answer_cot"), metadata.get("expression")
    if isinstance(reasoning, str):
        return reasoning.rpartition("####")[0].strip()
    if not isinstance(expression, str):
        return ""
    terms = re.fullmatch(r"(-?[0-9]+)((?: [+-] -?[0-9]+)+)", expression)
    if terms is None:
        return f"{expression} = {item['answer']}"
    total, steps = int(terms[1]), []
    for sign, term in re.findall(r" ([+-]) (-?[0-9]+)", terms[2]):
        after = total + int(term) if sign == "+" else total - int(term)
        steps.append(f"{total} {sign} {term} = {after}")
        total = after
    return "\n".join(steps)


def scored(dataset: Any, item: dict[str, Any], answer: str) -> bool:
    """Whether the data set's scorer gives all it has. An answer that it fails on is a wrong one."""
    try:
        return bool(dataset.score_answer(answer, item) >= 1.0)
    except Exception:  # anything, as its author did not think of this answer
        return False


def opened(dataset: Any) -> dict[str, Any]:
    """What the task needs to know at once: whether references are right, and whether scoring is safe."""
    item = dataset[0]
    answer = item["answer"]
    return {
        "referenced": isinstance(answer, str),
        "evaluates": evaluates(dataset),
        "right": isinstance(answer, str) and scored(dataset, item, answer.strip()),
    }


def serve(name: str, options: dict[str, Any]) -> None:
    questions = Questions()  # before the import, which may print
    try:
        dataset = made(name, options)
    except ValueError as error:
        for _ in questions:
            questions.reply({"refused": str(error)})
        return
    item = lru_cache(maxsize=4096)(dataset.__getitem__)  # scored soon after it was asked for
    for question, *details in questions:
        if question == "open":
            questions.reply(opened(dataset))
        elif question == "item":
            found = item(details[0])
            questions.reply([found["question"], found["answer"], worked(found)])
        else:
            number, answer = details
            found = item(number)
            with cpu_limit(CPU_SECONDS):
                right = scored(dataset, found, answer)
            questions.reply(right)


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]))
