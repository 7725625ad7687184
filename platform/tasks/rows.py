"""Rows of a data set, from JSONL or Parquet files or from the Hugging Face hub; a bad one is named."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import Field

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.tasks.base import TaskSettings

SPLITS = {"train": ("train",), "test": ("test", "validation")}
"""Our two splits, and what data sets call them, best first. The second is held out."""

SUFFIXES = (".jsonl", ".parquet")


class Asked(Protocol):
    """Any row: it has a question, by which it is told from others."""

    @property
    def question(self) -> str: ...


R = TypeVar("R", bound=Asked)

Parse = Callable[[int, Any], R | None]
"""(place in the split, raw row) -> row, or None to leave it out. Raises ValueError, which names the field."""


class Row(NamedTuple):
    """One problem: its place in the split, and its parts without the data set's own marks."""

    number: int
    question: str
    solution: str
    answer: str
    level: int = 0
    topic: str = ""


class RowSettings(TaskSettings):
    """What a task of finite data may be told. The task's own `Settings` name the data set on the hub."""

    path: str | None = None
    """Folder with train.jsonl and test.jsonl (or validation.jsonl; .parquet as well), or one such file, a
    tenth of it held out. Unset: the hub.
    """
    hub_name: str
    """Data set on the Hugging Face hub, read when `path` is unset."""
    config: str | None = None
    """Which of the hub data set's configurations."""
    instruction: str = ""
    """What the prompt begins with."""
    few_shot: int = Field(2, ge=0, le=16)
    """How many worked examples the prompt holds: the first short ones of the training split."""
    max_solution_chars: int | None = Field(None, ge=1)
    """Leave out problems with longer solutions, in both splits: accuracy is then that on easier ones."""


def text(row: Any, field: str, fields: Sequence[str]) -> str:
    """The text under a field. Raises ValueError, which names all the `fields` that a row should have."""
    if not isinstance(row, Mapping) or not isinstance(row.get(field), str):
        *first, last = map(repr, fields)
        raise ValueError(f"has no text under {field!r}, expected {', '.join(first)} and {last}")
    found: str = row[field]
    found.encode()  # a lone surrogate, which JSON can spell, is a ValueError here and a crash elsewhere
    return found


def read(settings: RowSettings, parse: Parse[R], limit: int | None = None) -> dict[str, list[R]]:
    """The rows of "train" and "test". limit: look at no more raw rows of each split. Raises BadInput."""
    if settings.path is not None:
        rows = _from_path(Path(settings.path), parse, limit)
    else:
        rows = _from_hub(settings, parse, limit)
    if "test" not in rows:
        # By the question's own hash, so that a row stays in its split when others are added.
        held = [seed_of("split", row.question) % 10 == 0 for row in rows["train"]]
        rows["test"] = [row for row, out in zip(rows["train"], held, strict=True) if out]
        rows["train"] = [row for row, out in zip(rows["train"], held, strict=True) if not out]
    return rows


def _from_path(path: Path, parse: Parse[R], limit: int | None) -> dict[str, list[R]]:
    rows = {}
    for split, file in _files(path).items():
        if not file.is_file():
            raise BadInput(
                f"task.path: {str(path)!r} has no {split} file {str(file)!r}, "
                "expected a folder with train.jsonl and test.jsonl, or one JSONL or Parquet file"
            )
        read_file = _parquet if file.suffix == ".parquet" else _jsonl
        rows[split] = list(_parsed(read_file(file, parse), limit))
    return rows


def _files(path: Path) -> dict[str, Path]:
    """Split -> its file, the first that exists; if none does, the first that could."""
    if not path.is_dir():
        return {"train": path}
    found = {}
    for split, names in SPLITS.items():
        could = [path / f"{name}{suffix}" for name in names for suffix in SUFFIXES]
        found[split] = next((file for file in could if file.is_file()), could[0])
    return found


def _parsed(rows: Iterable[R | None], limit: int | None) -> Iterator[R]:
    return (row for row in islice(rows, limit) if row is not None)


def _jsonl(file: Path, parse: Parse[R]) -> Iterator[R | None]:
    with file.open("rb") as lines:
        for i, line in enumerate(lines):
            try:
                yield parse(i, json.loads(line))
            except ValueError as error:
                shown = line[:40].decode(errors="replace").strip()
                raise BadInput(f"task.path: {file}, line {i + 1} ({shown!r}...): {error}") from error


def _parquet(file: Path, parse: Parse[R]) -> Iterator[R | None]:
    from pyarrow import ArrowInvalid, parquet

    try:
        table = parquet.ParquetFile(file)
    except ArrowInvalid as error:
        raise BadInput(f"task.path: {file} is no Parquet file: {str(error).splitlines()[0]}") from error
    raw = (row for batch in table.iter_batches() for row in batch.to_pylist())
    yield from _numbered(raw, parse, f"task.path: {file}")


def _from_hub(settings: RowSettings, parse: Parse[R], limit: int | None) -> dict[str, list[R]]:
    import datasets

    datasets.disable_progress_bars()  # a bar from every peer's process would bury the run's own progress
    try:
        loaded = datasets.load_dataset(settings.hub_name, settings.config)
    except (OSError, ValueError) as error:  # no network, no such data set, no such configuration
        raise BadInput(
            f"task.hub_name: cannot load {settings.hub_name!r} (task.config {settings.config!r}): "
            f"{str(error).splitlines()[0]}; expected a data set on the Hugging Face hub, or set task.path"
        ) from error
    rows = {}
    for split, names in SPLITS.items():
        name = next((name for name in names if name in loaded), None)
        if name is not None:
            place = f"task.hub_name: {settings.hub_name!r}, split {name}"
            rows[split] = list(_parsed(_numbered(loaded[name], parse, place), limit))
    if "train" not in rows:
        raise BadInput(
            f"task.hub_name: {settings.hub_name!r} has the splits {', '.join(loaded)}: expected is train"
        )
    return rows


def _numbered(raw: Iterable[Any], parse: Parse[R], place: str) -> Iterator[R | None]:
    for i, row in enumerate(raw):
        try:
            yield parse(i, row)
        except ValueError as error:
            raise BadInput(f"{place}, row {i + 1}: {error}") from error
