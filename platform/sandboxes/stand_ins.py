"""The tests' side of a check: test code in which the program's functions are stand-ins for calls across."""

import ast
import builtins
import sys
from dataclasses import dataclass
from functools import lru_cache

CALL = "_turncoat_call"
"""In the tests' session: the host's function (name, packed (args, kwargs)) -> reply of `serve`, all str."""


@dataclass(frozen=True, slots=True)
class Script:
    """What the tests' session runs: the source of `exchange`, then `prelude`, then `tests`."""

    prelude: str
    tests: str


_PRELUDE = f"""
_turncoat_pack, _turncoat_serve, _turncoat_result = exchange()

def _turncoat_stand_in(name, call={CALL}, pack=_turncoat_pack, result=_turncoat_result):
    def stand_in(*args, **kwargs):
        return result(call(name, pack((args, kwargs))))
    return stand_in
"""


@lru_cache(maxsize=1024)
def script(tests: str, entry_point: str) -> Script:
    """Raises SyntaxError if the tests are no Python."""
    tree = ast.parse(tests)
    names = free_names(tree)
    # A program's prompt often imports what its tests need.
    modules = (names & sys.stdlib_module_names) - {entry_point}
    functions = (names - modules - {"candidate"}) | {entry_point}
    lines = [f"import {name}" for name in sorted(modules)]
    lines += [f'{name} = _turncoat_stand_in("{name}")' for name in sorted(functions)]
    lines += [f"candidate = {entry_point}"]
    has_check = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    ending = "\n\ncheck(candidate)\n" if has_check else "\n"
    return Script(_PRELUDE + "\n".join(lines) + "\n", tests + ending)


def free_names(tree: ast.AST) -> set[str]:
    """Names that the code reads and binds nowhere, builtins apart."""
    read, bound = set(), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=alias):
                bound.add(alias or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return read - bound
