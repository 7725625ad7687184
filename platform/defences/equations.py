"""Find the equations of a text, and recompute those that can be read without doubt.

`a ∘ b = c` with numbers and + - * / and parentheses alone. What stands around an equation may change what
it means (`3 apples + 2 + 1 = 6`, `20% * 50 = 10`, `= 5 dozen`); where it might, the equation is left out.
Work is linear in the length of the text, and no number is built from more than about a thousand digits.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

MAX_DIGITS = 24
"""Of one number."""
MAX_TOKENS = 48
"""Of one side of an equation."""

_MARKED = re.compile(r"<<([^<>]{0,200})>>")
"""GSM8K's calculator marks: `48/2 = <<48/2=24>>24`."""
_TIMES = re.compile(r"(?<=[0-9])(\s*)(?:[xX]|\\times|\\cdot)(\s*)(?=[0-9$(.])")
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "−": "-", "–": "-", "$": " "})
# An equation lies within one run of these.
_RUN = re.compile(r"[-+*/=().,0-9 \t]+")
_TOKEN = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([^ \t])")
_SPACED_TOKEN = re.compile(r"([0-9]+)|([^ \t])")
_QUIET_BEFORE, _TIGHT_BEFORE = frozenset("\n<>[{;:!?)]}\"'`“”‘’…"), frozenset("\n<>[{\"'`“‘")
_QUIET_AFTER, _TIGHT_AFTER = frozenset("\n<>[](){};:?\"'`“”‘’…"), frozenset("\n<>]};:?\"'`”’…")
"""Characters beside an equation that leave its meaning alone: with white space between, and without."""
_WORD_BEFORE = re.compile(r"[^\W\d_]{1,20}$")
_WORD_AFTER = re.compile(r"[^\W\d_]{1,20}")

_BEFORE = """
times plus minus by of over twice half double triple thrice less than divided multiplied added subtracted sum
difference product quotient sqrt log ln mod per remaining x y z
"""
_AFTER = """
times plus minus by of over half more less than divided multiplied squared cubed percent hundred thousand
million billion trillion dozen dozens pairs mod x y z
"""
_BINDS_RIGHT, _BINDS_LEFT = frozenset(_BEFORE.split()), frozenset(_AFTER.split())
"""Words that compute with what follows them, and with what stands before."""


class Equation(NamedTuple):
    """Two sides that the text calls equal; each a list of numbers and signs."""

    left: list[str]
    right: list[str]


def false_equations(text: str, spaced_digits: bool = False) -> int:
    """How many equations of `text` are certainly wrong.

    spaced_digits: white space between digits means nothing ("1 5" is 15), and there are no decimals, as in
    the texts of word-level policies, where a full stop between digits ends a sentence.

    A right side that was rounded to its own last digit, up or down, is not wrong. Neither is a running
    calculation, `5 + 3 = 8 + 2 = 10`.
    """
    return sum(is_false(one) for one in equations(text, spaced_digits))


def equations(text: str, spaced_digits: bool = False) -> Iterator[Equation]:
    """The equations of a text that can be read without doubt."""
    if "=" not in text:
        return
    marked = _MARKED.findall(text)
    for part in (_MARKED.sub("", text) if marked else text, *marked):
        part = _TIMES.sub(r"\1*\2", part).translate(_SIGNS)
        if spaced_digits:
            part = re.sub(r"(?<=[0-9]) +(?=[0-9])", "", " ".join(part.split()))
        for run in _RUN.finditer(part):
            if "=" in run[0]:
                yield from _of_run(part, run, spaced_digits)


def _of_run(text: str, run: re.Match[str], spaced_digits: bool) -> Iterator[Equation]:
    pattern = _SPACED_TOKEN if spaced_digits else _TOKEN
    chain: list[str] = []
    begin, end = run.start(), run.start()
    sure = True  # of what stands before the chain
    for token in pattern.finditer(text, run.start(), run.end()):
        if token[0] in ".,":
            # Without white space around, these belong to something like a version or a date.
            apart = spaced_digits or not text[token.end() : token.end() + 1].isdigit()
            yield from _of_chain(chain, sure, apart)
            chain, sure = [], apart
            begin = end = token.end()
            continue
        if not chain and begin == run.start():
            sure = _quiet_before(text, begin, token.start(), spaced_digits)
        chain.append(token[0])
        end = token.end()
    yield from _of_chain(chain, sure, _quiet_after(text, end, run.end(), spaced_digits))


def _of_chain(chain: list[str], sure_before: bool, sure_after: bool) -> Iterator[Equation]:
    """The equations of `a = b = c`. A parenthesis that is opened before, or closed after it, is prose."""
    sides: list[list[str]] = [[]]
    for token in chain:
        if token == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    if len(sides) < 2:
        return
    opening, closing = _unmatched(sides[0])[0], _unmatched(sides[-1])[1]
    if opening is not None:
        sides[0] = sides[0][opening + 1 :]
    # A number alone is a label: `day 2 = 5 + 3`.
    elif not sure_before or sides[0][:1] == ["-"] or len(sides[0]) == 1:
        sides[0] = []
    if closing is not None:
        sides[-1] = sides[-1][:closing]
    elif not sure_after:
        sides[-1] = []
    for left, right in pairwise(sides):
        if left and right and any(token in "+-*/" for token in (*left[1:], *right[1:])):
            yield Equation(left, right)


def _unmatched(tokens: list[str]) -> tuple[int | None, int | None]:
    """Places of the last parenthesis that opens and is not closed, and of the first that closes nothing."""
    open: list[int] = []
    for i, token in enumerate(tokens):
        if token == "(":
            open.append(i)
        elif token == ")":
            if not open:
                return None, i
            open.pop()
    return (open[-1] if open else None), None


def _quiet_before(text: str, begin: int, at: int, spaced_digits: bool) -> bool:
    """Whether what stands before text[begin], of which text[begin:at] is white space, computes nothing."""
    if not begin:
        return True
    last = text[begin - 1]
    if begin == at and not spaced_digits:
        return last in _TIGHT_BEFORE
    word = _WORD_BEFORE.search(text, max(0, begin - 20), begin)
    return word[0].lower() not in _BINDS_RIGHT if word else last in _QUIET_BEFORE


def _quiet_after(text: str, at: int, end: int, spaced_digits: bool) -> bool:
    """Whether what stands at text[end], of which text[at:end] is white space, leaves the value alone."""
    if end == len(text):
        return True
    if at == end and not spaced_digits:
        # 10:30 is a time.
        return text[end] in _TIGHT_AFTER and not (text[end] == ":" and text[end + 1 : end + 2].isdigit())
    word = _WORD_AFTER.match(text, end)
    return word[0].lower() not in _BINDS_LEFT if word else text[end] in _QUIET_AFTER


def is_false(equation: Equation) -> bool:
    """Whether the two sides differ, beyond rounding; False where one has no value (a division by zero)."""
    left, right = value(equation.left), value(equation.right)
    if left is None or right is None or left == right:
        return False
    if len(equation.right) > 1:
        return left != value(equation.right, first=True)
    digits = len(equation.right[0].partition(".")[2])
    rounded = (left * 10**digits).denominator > 1 and abs(left - right) * 10**digits < 1
    return not rounded


def value(tokens: list[str], first: bool = False) -> Fraction | None:
    """The value of an expression, or of its first operand alone (`-3` in `-3 + 10`).

    None where there is none, or it divides by zero.
    """
    if not 0 < len(tokens) <= MAX_TOKENS:
        return None
    reader = _Reader(tokens)
    try:
        found = reader.factor() if first else reader.sum()
    except (_Unreadable, ZeroDivisionError):
        return None
    return found if first or reader.at == len(tokens) else None


class _Unreadable(Exception):
    pass


class _Reader:
    """Recursive descent over at most MAX_TOKENS tokens, which bounds its depth too."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.at = tokens, 0

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Fraction:
        total = self.product()
        while self.next() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> Fraction:
        total, divided = self.factor(), False
        while self.next() in ("*", "/"):
            if self.take() == "*":
                total, divided = total * self.factor(), False
            elif divided:  # 6 / 1/3 may be meant as 18
                raise _Unreadable
            else:
                total, divided = total / self.factor(), True
        return total

    def factor(self) -> Fraction:
        token = self.next()
        # One sign, as in `= -3` or `5 * -3`.
        if token == "-" and self.tokens[self.at - 1 : self.at] != ["-"]:
            self.take()
            return -self.factor()
        if token == "(":
            self.take()
            inner = self.sum()
            if self.next() != ")":
                raise _Unreadable
            self.take()
            return inner
        if not token or token[0] not in ".0123456789":
            raise _Unreadable
        self.take()
        return number(token)


def number(token: str) -> Fraction:
    """The value of digits, with thousands separators or decimals."""
    digits = token.replace(",", "")
    # 0930 is a time rather than a number.
    if len(digits) > MAX_DIGITS or (digits[0] == "0" and digits[1:2].isdigit()):
        raise _Unreadable
    return Fraction(digits)
