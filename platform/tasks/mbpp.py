"""Short functions asked for in a sentence (Austin et al. 2021, arXiv 2108.07732), from the hub or files."""

import ast
import re
import warnings
from typing import Any, Literal

from turncoat.platform.tasks.deck import Deck, chosen
from turncoat.platform.tasks.rows import RowSettings, read, text
from turncoat.platform.tasks.tested import Function, TestedSettings, TestedTask

INSTRUCTION = "Write a Python program with the function that is asked for. Write nothing but code."
FIELDS = ("text", "code", "test_list")
EXAMPLE_CHARS = 240
"""The longest solution of an example in the prompt."""


class MbppTask(TestedTask):
    """MBPP: `text`, `code`, `test_list`, `test_setup_code`; the completion is a program, the tests decide."""

    class Settings(TestedSettings, RowSettings):
        kind: Literal["mbpp"] = "mbpp"
        hub_name: str = "google-research-datasets/mbpp"
        config: str | None = "full"
        """Which of the hub data set's configurations: full, or sanitized, whose `text` is named `prompt`."""
        instruction: str = INSTRUCTION

    settings: Settings

    def __init__(self, settings: Settings):
        examples, rows = chosen(read(settings, parse), settings, EXAMPLE_CHARS)
        super().__init__(settings, Deck("mbpp", rows))
        shown = "".join(f"{question(row)}{row.solution}\n\n" for row in examples)
        self.head = f"{settings.instruction}\n\n{shown}"

    def asked(self, row: Function) -> str:
        return self.head + question(row)


def question(row: Function) -> str:
    return f"Question: {row.question}\nProgram:\n"


def parse(number: int, row: Any) -> Function | None:
    """Read one row. Raises ValueError, which names the field.

    None for a row that no sandbox can judge: its tests call no function of its code, or there are classes,
    whose objects do not cross from a program to its tests (see Case).
    """
    sanitized = isinstance(row, dict) and "prompt" in row
    fields = ("prompt" if sanitized else "text", *FIELDS[1:])
    asked, code = (text(row, field, fields).strip() for field in fields[:2])
    tests = row.get("test_list")
    if not isinstance(tests, list) or not tests or not all(isinstance(test, str) for test in tests):
        raise ValueError("has no list of texts under 'test_list'")
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports") or [])
    if not isinstance(setup, str):
        raise ValueError(f"test_setup_code is {setup!r}, expected a text")
    code = re.sub(r"\r\n?", "\n", code)
    written, setup_tree, asserted = (
        parsed(source, field)
        for source, field in ((code, "code"), (setup, "test_setup_code"), ("\n".join(tests), "test_list"))
    )
    if any(isinstance(node, ast.ClassDef) for node in (*written.body, *setup_tree.body)):
        return None
    functions = {node.name for node in written.body if isinstance(node, ast.FunctionDef)}
    called = [name for name in names(asserted) if name in functions]
    if not called:
        return None
    shown = "\n".join(tests)
    return Function(
        number=number,
        question=f"{asked}\nYour code should pass these tests:\n{shown}",
        start="",
        solution=code,
        tests=f"{setup}\n{shown}",
        entry_point=called[0],
    )


def parsed(source: str, field: str) -> ast.Module:
    """Raises ValueError, which names the field, if the text is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that are none, in other people's strings
            return ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{field} is no Python: {error.msg}") from error


def names(tree: ast.AST) -> list[str]:
    """What a program calls by its name, in order."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call.id for call in calls if isinstance(call, ast.Name)]
