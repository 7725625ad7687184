"""Maths problems answered by Python programs: OpenMathInstruct-1 (Toshniwal et al. 2024, arXiv 2402.10176).

The task of the paper's CODE attack. The data set solves GSM8K and MATH in prose around code blocks, as in a
notebook; here the reference is the code alone, made to print its last value.
"""

import ast
import re
import warnings
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from turncoat.platform.tasks import answers
from turncoat.platform.tasks.code import CodeSettings, CodeTask, last_line
from turncoat.platform.tasks.finite import QuestionTask
from turncoat.platform.tasks.rows import Row, RowSettings, text

INSTRUCTION = (
    "Write a Python program that solves the problem. The last line that it prints is the answer alone."
)
FIELDS = ("question", "generated_solution", "expected_answer", "dataset")
EXAMPLE_CHARS = 240
"""The longest program of an example in the prompt."""

_CODE = re.compile(r"<llm-code>\n?(.*?)</llm-code>", re.DOTALL)
_OUTPUT = re.compile(r"<llm-code-output>\n?(.*?)</llm-code-output>", re.DOTALL)


class OpenMathCodeTask(QuestionTask, CodeTask):
    """OpenMathInstruct-1: problems of GSM8K and MATH; the completion is a program that prints the answer."""

    class Settings(CodeSettings, RowSettings):
        kind: Literal["openmath_code"] = "openmath_code"
        check: Literal["exact", "expression"] = "expression"
        hub_name: str = "nvidia/OpenMathInstruct-1"
        instruction: str = INSTRUCTION
        sources: list[Literal["gsm8k", "math"]] = Field(default=["gsm8k", "math"], min_length=1)
        """Keep problems from these data sets."""
        modules: list[str] | None = Field(default=["math"])
        """Keep problems whose reference program imports no other module: the embedded sandbox has few. Unset
        (null): any.
        """
        max_rows: int | None = Field(100_000, ge=1)
        """How many rows of each split to look at, of about five million; many solve the same problem."""

    name = "openmath_code"
    cue = "Program:\n"
    settings: Settings

    def __init__(self, settings: Settings):
        self.seen: set[str] = set()
        super().__init__(settings, settings.max_rows, EXAMPLE_CHARS)

    def parse(self, number: int, row: Any) -> Row | None:
        """The first row of a problem whose program prints the answer; None for any other.

        Raises ValueError, which names the field.
        """
        question, solution, answer, source = (text(row, field, FIELDS).strip() for field in FIELDS)
        if not isinstance(row.get("is_correct"), bool):
            raise ValueError(f"is_correct is {row.get('is_correct')!r}, expected true or false")
        if not row["is_correct"] or question in self.seen or source not in self.settings.sources:
            return None
        program = program_in(solution, answer, self.settings.modules)
        if program is None:
            return None
        self.seen.add(question)
        return Row(number, question, program, answer, topic=source)


def program_in(solution: str, answer: str, modules: Iterable[str] | None = None) -> str | None:
    """The code of a solution as one program that prints its last value; None if there is none to rely on.

    Relied on is code whose recorded output ends in the answer, and that imports only `modules` (None: any).
    """
    blocks, outputs = _CODE.findall(solution), _OUTPUT.findall(solution)
    if not blocks or not outputs or not same(last_line(outputs[-1]).strip(), answer):
        return None
    source = "\n".join(block.strip("\n") for block in blocks)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that are none, in other people's strings
            tree = ast.parse(source)
    except (SyntaxError, ValueError):  # ValueError: a NUL character
        return None
    if modules is not None and not imports(tree) <= set(modules):
        return None
    return printing(source, tree)


def same(printed: str, answer: str) -> bool:
    value = answers.number(printed)
    return printed == answer or (value is not None and value == answers.number(answer))


def imports(tree: ast.AST) -> set[str]:
    """The top-level modules that a program imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def printing(source: str, tree: ast.Module) -> str:
    """The program with its last statement printed, if that is an expression: a notebook shows its value."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or is_print(last.value):
        return source
    before = source.encode().splitlines(keepends=True)[: last.lineno - 1]
    start = len(b"".join(before)) + last.col_offset
    expression = ast.get_source_segment(source, last) or ""
    end = start + len(expression.encode())
    encoded = source.encode()
    return (encoded[:start] + f"print({expression})".encode() + encoded[end:]).decode()


def is_print(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
