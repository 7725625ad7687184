"""Map the rooms at the top of the repository into one import package, `turncoat`.

`platform/` becomes `turncoat.platform`, and so on. No room holds an `__init__.py` at its own level: a package
`platform/` would shadow the standard library's module for anyone who starts Python in the repository root.
What a room holds is computed, so that no new folder and no kind of file can be forgotten in the wheel.
"""

from pathlib import Path

from setuptools import setup

ROOMS = [room for room in ("platform", "actors", "jobs", "tuning") if Path(room).is_dir()]


def packages(room: str) -> set[str]:
    """Every folder of a room that holds Python; the room's own is a namespace."""
    folders = {path.parent for path in Path(room).rglob("*.py")}
    return {".".join(("turncoat", *folder.parts)) for folder in folders | {Path(room)}}


def data(room: str) -> list[str]:
    """Every other file of a room: recipes, checkpoints, templates, logs."""
    files = [path for path in Path(room).rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    return [path.relative_to(room).as_posix() for path in files]


setup(
    packages=sorted(set().union(*map(packages, ROOMS))),
    package_dir={f"turncoat.{room}": room for room in ROOMS},
    package_data={f"turncoat.{room}": data(room) for room in ROOMS},
)
