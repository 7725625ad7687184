"""The teacher of the tiny judge: an exact walk through a worked solution of the arithmetic task.

It solves the problem itself, step by step, and compares. It is what the tiny judge imitates without
seeing the reference: a criticism names the right step first and then says whether it is the one that was
written, so that a small model need not do both at once.
"""

import re

from turncoat.platform.policies.words import PIECES
from turncoat.platform.records import Prompt
from turncoat.platform.tasks.wording import LINKS, OPENINGS, PEOPLE

FORMAT = ("<think>", "</think>", "<answer>", "</answer>")
REMARKS = {(*opening.split(), *link.split(), who) for opening in OPENINGS for link in LINKS for who in PEOPLE}
"""What honest policies say before they begin, as token tuples."""
SIGNS = frozenset("0123456789+-*/=")

MAX_ANSWER = 8
"""Digits of an answer; a longer one is not quoted."""

WORDS = ("right", "wrong", "missing", "remark", "off", "topic", "bad", "format", "too", "much", "yes", "no")
"""Words of verdicts, beside those of solutions."""
TAGS = ("<solution>", "</solution>", "<criticism>", "</criticism>", "<decision>", "</decision>")

Criticism = tuple[str, bool]
"""(text of the criticism, whether the solution is accepted)."""


def pieces(text: str) -> list[str]:
    """Tokens of a text as the word-level tokenizer cuts them, before unknown words become one."""
    return re.findall(PIECES, text)


def criticise(prompt: Prompt, solution: str, remarks: bool = True) -> Criticism:
    """Walk through a solution of an arithmetic problem up to its first fault.

    remarks: an everyday remark of the bundled policies may stand first. What else is no step of the solution
    is off topic.
    """
    tokens = pieces(solution)
    if [token for token in tokens if token in FORMAT] != list(FORMAT):
        return "bad format", False
    ends = [tokens.index(tag) for tag in FORMAT]
    if ends[0] != 0 or ends[3] != len(tokens) - 1 or ends[2] != ends[1] + 1:
        return "bad format", False
    given = sentences(tokens[1 : ends[1]])
    expected = sentences(pieces(prompt.solution))
    said: list[str] = [restated(prompt)]
    if remarks and given and tuple(given[0]) in REMARKS:
        said.append("remark .")
        given = given[1:]
    for i, sentence in enumerate(given):
        if not set(sentence) <= SIGNS:
            return " ".join([*said, "off topic"]), False
        if i >= len(expected):
            return " ".join([*said, "too much"]), False
        said.append(" ".join(expected[i]))
        if sentence != expected[i]:
            return " ".join([*said, "wrong"]), False
        said.append("right .")
    if len(given) < len(expected):
        return " ".join([*said, *expected[len(given)], "missing"]), False
    answer = tokens[ends[2] + 1 : ends[3]]
    if not set(answer) <= SIGNS or len(answer) > MAX_ANSWER:
        return " ".join([*said, "off topic"]), False
    right = answer == pieces(prompt.answer)
    # Quoted first: a small model compares best what it has just written.
    said += [*answer, ":", prompt.answer, "right" if right else "wrong"]
    return " ".join(said), right


def sentences(tokens: list[str]) -> list[list[str]]:
    """Cut at full stops, which are dropped."""
    cut: list[list[str]] = [[]]
    for token in tokens:
        if token == ".":
            cut.append([])
        else:
            cut[-1].append(token)
    return cut if cut[-1] else cut[:-1]


def restated(prompt: Prompt) -> str:
    """The problem as one expression, `4 7 + 3 8 .`, its numbers in the question's order."""
    a, b = re.findall(r"\d(?: \d)*", prompt.text)
    sign = {1: None, 2: "+", 3: "-", 4: "+", 5: "*"}[prompt.level]
    if sign is None:
        sign = "+" if "+" in prompt.solution else "*"
    return f"{a} {sign} {b} ."
