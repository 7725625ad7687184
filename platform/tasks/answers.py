"""The strict completion format and the exact rational check of answers.

Completions come from peers that may be hostile: everything here is linear in the length of the text, and no
number is built from more than `MAX_ANSWER_CHARS` characters.
"""

import re
from fractions import Fraction
from typing import Literal

Verdict = Literal["right", "wrong", "malformed", "timeout", "error"]
"""right; wrong: well-formed, another answer; malformed: no strict format, or no program that runs; timeout:
the program passed its limits; error: the verifier failed, which says nothing about the completion.
"""

MAX_ANSWER_CHARS = 128
"""Longer answers are no numbers. A spaced answer of 64 digits still fits."""

_TAGS = ("<think>", "</think>", "<answer>", "</answer>")

# ASCII digits only, and no exponents, so that a short text cannot stand for a huge number.
_NUMBER = re.compile(
    r"(?P<before>[+-]?)\$?(?P<sign>[+-]?)"
    r"(?:(?P<whole>[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)?(?:\.(?P<decimals>[0-9]+))?)"
    r"(?:/(?P<denominator>[0-9]+))?\.?"
)


def write(solution: str, answer: str) -> str:
    """A completion in the strict format: `<think>solution</think><answer>answer</answer>`."""
    return f"<think>{solution}</think><answer>{answer}</answer>"


def read(text: str) -> tuple[str, str] | None:
    """(thought, answer) of a completion in the strict format, stripped; None if it is in any other.

    Strict: exactly one `<think>...</think>`, then exactly one `<answer>...</answer>`, no tag inside either,
    nothing but white space before, between and after.
    """
    text = text.strip()
    if not (text.startswith("<think>") and text.endswith("</answer>")):
        return None
    if any(text.count(tag) != 1 for tag in _TAGS):
        return None
    thought, _, rest = text.removeprefix("<think>").removesuffix("</answer>").partition("</think>")
    between, opened, answer = rest.partition("<answer>")
    if not opened or between.strip():
        return None
    return thought.strip(), answer.strip()


def number(text: str, spaced_digits: bool = False) -> Fraction | None:
    """The exact value of a written number, or None if the text is not one.

    Read are integers, decimals and fractions of integers, with a sign, a dollar sign, thousands separators or
    a final full stop: "-3", "1,234.50", "$5", "1/2", "72.". `spaced_digits`: white space between digits means
    nothing, as a word-level tokenizer writes it ("8 5" is 85).
    """
    if len(text) > MAX_ANSWER_CHARS:
        return None
    text = "".join(text.split()) if spaced_digits else text.strip()
    found = _NUMBER.fullmatch(text.replace("−", "-"))
    if found is None or (found["before"] and found["sign"]):
        return None
    whole, decimals, denominator = found["whole"], found["decimals"], found["denominator"]
    if not (whole or decimals) or (denominator and (decimals or not int(denominator))):
        return None
    digits = (whole or "").replace(",", "") + (decimals or "")
    value = Fraction(int(digits), 10 ** len(decimals or "") * int(denominator or 1))
    return -value if "-" in (found["before"], found["sign"]) else value


def check_exact(answer: str, reference: str, spaced_digits: bool = False) -> Verdict:
    """Compare two written numbers as rationals.

    "error" when the *reference* is no number: that says nothing about the completion, and is not "wrong".
    """
    true = number(reference, spaced_digits)
    if true is None:
        return "error"
    return "right" if number(answer, spaced_digits) == true else "wrong"
