"""The house rules of docs/architecture.md that a machine can check."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "platform": {"platform"},
    "actors": {"actors", "platform"},
    "jobs": {"jobs", "actors", "platform"},
    "tuning": {"tuning", "jobs", "actors", "platform"},
}
FILES = [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py"))]
DOTTED_PATH = re.compile(r"turncoat(\.\w+)+(:\w+)?")


def imported(path: Path) -> Iterator[str]:
    """Every module that a file names: imports anywhere in it, and dotted paths as in the registries."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and DOTTED_PATH.fullmatch(node.value)
        ):
            yield node.value


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_no_room_is_a_package_at_the_top(room: str) -> None:
    """`platform/__init__.py` would shadow the standard library for everyone in the repository root."""
    assert not (ROOT / room / "__init__.py").exists()


def test_every_folder_below_a_room_is_a_package() -> None:
    """A module in a folder without `__init__.py` could be split over two installations unnoticed."""
    bare = {path.parent for path in FILES if not (path.parent / "__init__.py").exists()}
    assert bare <= {ROOT / room for room in MAY_IMPORT}


def test_imports_run_down_the_table() -> None:
    """An upward import makes a cycle, and drags Ray into what runs in milliseconds without it."""
    wrong = []
    for path in FILES:
        room = path.relative_to(ROOT).parts[0]
        for name in imported(path):
            package, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if package == "turncoat" and target in MAY_IMPORT and target not in MAY_IMPORT[room]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_imports_are_absolute() -> None:
    """The rule above could not be read off relative imports."""
    relative = [
        str(path.relative_to(ROOT))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_platform_never_imports_ray() -> None:
    """The platform is tested, and used in notebooks, without a cluster."""
    using = [path for path in FILES if path.is_relative_to(ROOT / "platform")]
    named = {
        str(path.relative_to(ROOT))
        for path in using
        for name in imported(path)
        if name.split(".")[0] == "ray"
    }
    assert named == set()


@pytest.mark.parametrize(
    "code",
    [
        "import turncoat.platform.config.experiment",
        "from turncoat.platform.config.loading import parse; "
        "parse({'task': 'arithmetic', 'peers': {'malicious': 0}, 'defences': ['support']})",
        "import turncoat.jobs.cli",
    ],
    ids=["experiment", "config load", "command line"],
)
def test_reading_a_config_is_cheap(code: str) -> None:
    """Seconds of torch and Ray before each wrong key is reported, or each trial planned, would be felt."""
    check = f"import sys; {code}; print(sorted({{'torch', 'ray', 'transformers'}} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", check], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert result.stdout.strip() == "[]"


def test_help_needs_only_typer() -> None:
    """`turncoat --help`, and every completion of a script that calls it, must answer at once."""
    check = (
        "import sys, turncoat.jobs.cli; "
        "print(sorted({'pydantic', 'omegaconf', 'numpy', 'yaml', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", check], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert result.stdout.strip() == "[]"
