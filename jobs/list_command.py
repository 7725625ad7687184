"""`turncoat list`: the kinds of every family with the first line of their docstring."""

import ast
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from turncoat.platform.config.errors import BadInput
from turncoat.platform.policies.load import BUNDLED, known_policies
from turncoat.platform.registry import (
    AGGREGATORS,
    ATTACKS,
    COMPRESSORS,
    DEFENCES,
    ENGINES,
    FEDERATED_ATTACKS,
    JUDGES,
    LEARNERS,
    PARTITIONS,
    ROBUST,
    SANDBOXES,
    TASKS,
    Registry,
    unknown,
)

REGISTRIES = {
    "tasks": TASKS,
    "attacks": ATTACKS,
    "defences": DEFENCES,
    "judges": JUDGES,
    "sandboxes": SANDBOXES,
    "engines": ENGINES,
    "learners": LEARNERS,
    "partitions": PARTITIONS,
    "aggregators": AGGREGATORS,
    "compressors": COMPRESSORS,
    "robust": ROBUST,
    "lies": FEDERATED_ATTACKS,
}
"""As people call them, which for all but the lies is the family's own name."""


def print_families(family: str | None, recipes: Path) -> None:
    """A table of one family, or of each. Raises BadInput for an unknown one."""
    tables: dict[str, Callable[[], dict[str, str]]] = {
        **{name: partial(described, registry) for name, registry in REGISTRIES.items()},
        "recipes": partial(described_recipes, recipes),
        "policies": lambda: {name: described_policy(name) for name in known_policies()},
    }
    if family is not None and family not in tables:
        raise BadInput(unknown(family, list(tables), "family"))
    console = Console()
    for name in [family] if family else tables:
        table = Table(
            "kind" if name in REGISTRIES else "name", "what it is", title=name, title_justify="left"
        )
        for kind, line in tables[name]().items():
            table.add_row(kind, line)
        console.print(table)


def described(registry: Registry) -> dict[str, str]:
    return {kind: first_line_of_class(registry.path(kind)) for kind in registry.kinds()}


def first_line_of_class(path: str) -> str:
    """The docstring's first line of `package.module:Class`, without importing it: some kinds load torch."""
    module, _, name = path.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return f"not installed: {module}"
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def described_recipes(folder: Path) -> dict[str, str]:
    """Name -> the first sentence of the comment that each recipe begins with."""
    return {
        path.stem: first_sentence(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))
    }


def first_sentence(recipe: str) -> str:
    comment = takewhile(lambda line: line.startswith("#"), recipe.splitlines())
    sentence, stop, _ = " ".join(line.lstrip("# ") for line in comment).partition(". ")
    return sentence + stop.strip()


def described_policy(name: str) -> str:
    return "bundled" if (BUNDLED / name).is_dir() else "from the package of extra `smollm2`"
