"""Files and folders that are either there whole or not there: written under a temporary name, synced,
renamed.

Temporary names begin with `.tmp-` and lie beside the target, since a rename is atomic only within one file
system. A process killed on the way leaves such a name behind and the old state untouched; `sweep` removes
the leftovers.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".tmp-"


def temporary(path: Path) -> Path:
    """The name under which `path` is written until it is whole."""
    return path.with_name(PREFIX + path.name)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to.

    It becomes `path` when the block ends, and is dropped when it raises.
    """
    pending = temporary(path)
    try:
        yield pending
        sync(pending)
        os.replace(pending, path)
    except BaseException:
        pending.unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Replace the content of `path` by `text` in UTF-8."""
    with replacing(path) as pending:
        pending.write_bytes(text.encode())


def publish(pending: Path, folder: Path) -> None:
    """Rename the folder `pending` to `folder`, every file in it synced first. An older `folder` is replaced.

    Replacing takes two renames: a kill between them leaves neither name, never a mixture of the two contents.
    """
    for path in sorted(pending.rglob("*")):
        sync(path)
    sync(pending)
    if folder.exists():
        remove(folder)
    os.rename(pending, folder)
    sync(folder.parent)


def remove(folder: Path) -> None:
    """Delete a folder so that a kill on the way never leaves half of it under its name."""
    doomed = temporary(folder.with_name(f"{folder.name}.old"))
    shutil.rmtree(doomed, ignore_errors=True)
    os.rename(folder, doomed)
    shutil.rmtree(doomed)


def sweep(folder: Path) -> None:
    """Delete what killed writers left in `folder`. Only for a folder that nobody is writing to."""
    for path in folder.glob(f"{PREFIX}*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync(path: Path) -> None:
    """Wait until the file or folder `path` is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
