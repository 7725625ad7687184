"""Checkpoints: a folder per round that is there whole, with a manifest to prove it, or does not count.

checkpoints/round-00010/
    peer-00/…       filled by the peer's learner
    state.json      round, the config, hashes of the weights, and whatever else a resumed run needs
    manifest.json   SHA-256 and size of every other file
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turncoat.platform.journal import atomic

logger = logging.getLogger(__name__)

STATE = "state.json"
MANIFEST = "manifest.json"


class Checkpoint(NamedTuple):
    """A checkpoint that was verified.

    folder: its path. round: the last round that it has seen. state: the content of `state.json`.
    """

    folder: Path
    round: int
    state: dict[str, Any]


def folder_of(checkpoints: Path, round: int) -> Path:
    """Where the checkpoint after `round` lies once it is whole."""
    return checkpoints / f"round-{round:05d}"


def pending(checkpoints: Path, round: int) -> Path:
    """An empty folder in which peers write their parts of the checkpoint (`peer-00/`, …) before `commit`."""
    folder = atomic.temporary(folder_of(checkpoints, round))
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def commit(checkpoints: Path, round: int, state: Mapping[str, Any]) -> Path:
    """Seal what lies in `pending(checkpoints, round)` and give it its name; returns the folder.

    `round` is added to `state`. Raises FileNotFoundError when nothing is pending for that round.
    """
    folder = atomic.temporary(folder_of(checkpoints, round))
    atomic.write_text(folder / STATE, _dump({"round": round, **state}))
    atomic.write_text(folder / MANIFEST, _dump(_inventory(folder)))
    atomic.publish(folder, folder_of(checkpoints, round))
    return folder_of(checkpoints, round)


def latest(checkpoints: Path) -> Checkpoint | None:
    """The newest checkpoint whose manifest verifies.

    Damaged ones are skipped with a warning. None: there is none.
    """
    for folder in reversed(_folders(checkpoints)):
        damage = verify(folder)
        if damage is None:
            state = json.loads((folder / STATE).read_text())
            return Checkpoint(folder, state["round"], state)
        logger.warning("checkpoint %s is skipped: %s", folder, damage)
    return None


def verify(folder: Path) -> str | None:
    """What is wrong with a checkpoint, or None.

    Every file is there with the size and SHA-256 of its manifest.
    """
    if not (folder / MANIFEST).is_file():
        return f"it has no {MANIFEST}"
    try:
        expected = json.loads((folder / MANIFEST).read_bytes())
    except ValueError:
        return f"{MANIFEST} is no JSON"
    found = _inventory(folder)
    if expected == found and STATE in found:
        return None
    names = {STATE, *expected, *found}
    wrong = sorted(name for name in names if name not in found or expected.get(name) != found[name])
    return f"{', '.join(wrong)} missing or changed since it was written"


def prune(checkpoints: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints. Meant for right after a commit: it does not verify."""
    for folder in _folders(checkpoints)[:-keep]:
        atomic.remove(folder)


def drop_after(checkpoints: Path, round: int) -> None:
    """Delete the checkpoints of rounds beyond `round`, damaged ones too."""
    for folder in _folders(checkpoints):
        if folder.name > folder_of(checkpoints, round).name:
            atomic.remove(folder)


def _folders(checkpoints: Path) -> list[Path]:
    return sorted(checkpoints.glob("round-*"))


def _inventory(folder: Path) -> dict[str, dict[str, Any]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {
        path.relative_to(folder).as_posix(): {"sha256": _sha256(path), "bytes": path.stat().st_size}
        for path in files
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n"
