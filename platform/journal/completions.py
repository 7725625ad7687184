"""`completions.parquet`: every completion of a run, with its truth and with what a receiving peer believed
about it.

While a run goes on there is one part per round, `completions/round-00001.parquet`, each written whole or
not at all. At its end `merge` joins them to one file, a row group per round. The merged file, where it
exists, is complete: parts beside it are leftovers of a merge that was killed.

Text in here was written by peers, who may be hostile. Parquet strings are UTF-8, which has no lone
surrogates; they are kept as the six characters `\\udXXX` (Python's "backslashreplace"), so that a string
that spells these six characters itself looks the same. Everything else, NUL and control characters too, is
kept as it came.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from turncoat.platform.journal import atomic
from turncoat.platform.records import Belief, Completion, Truth

PARTS = "completions"
MERGED = "completions.parquet"

SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("prompt", pa.int32()),
        ("peer", pa.int32()),
        ("sample", pa.int32()),
        ("prompt_id", pa.string()),
        ("prompt_text", pa.string()),
        ("text", pa.string()),
        ("finished", pa.bool_()),
        ("truth", pa.string()),
        ("receiver", pa.int32()),
        ("reward", pa.float64()),
        ("verdict", pa.string()),
        ("tokens", pa.int32()),
        ("advantage", pa.float64()),
        ("accepted", pa.bool_()),
        ("rejected_by", pa.list_(pa.string())),
        ("scores", pa.map_(pa.string(), pa.float64())),
        ("notes", pa.map_(pa.string(), pa.string())),
    ]
)
"""`prompt` counts the groups of a round, `prompt_id` names the question. `receiver` is the peer whose
belief the columns from `reward` on are. `tokens` is the receiver's own count, end token included.
"""

Row = dict[str, Any]


def row(completion: Completion, prompt_text: str, truth: Truth, receiver: int, belief: Belief) -> Row:
    """The row of one completion as `receiver` saw it.

    Raises ValueError when the belief is about another one.
    """
    if completion.id != belief.id:
        raise ValueError(f"belief about {belief.id} in the row of completion {completion.id}")
    return {
        **completion.id._asdict(),
        "prompt_id": completion.prompt_id,
        "prompt_text": prompt_text,
        "text": completion.text,
        "finished": completion.finished,
        "truth": truth,
        "receiver": receiver,
        "reward": belief.reward,
        "verdict": belief.verdict,
        "tokens": belief.tokens,
        "advantage": belief.advantage,
        "accepted": belief.accepted,
        "rejected_by": list(belief.rejected_by),
        "scores": sorted(belief.scores.items()),
        "notes": sorted(belief.notes.items()),
    }


def part_of(folder: Path, round: int) -> Path:
    """Where the part of `round` lies in a run's folder."""
    return folder / PARTS / f"round-{round:05d}.parquet"


def write_part(folder: Path, round: int, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write the completions of one round, sorted by (receiver, prompt, peer, sample); returns the part's
    path.

    Raises ValueError for a row of another round, and when the run's parts are merged already.
    """
    if (folder / MERGED).exists():
        raise ValueError(
            f"{folder} is finished, its completions are merged: rewind it before adding round {round}"
        )
    ordered = sorted(rows, key=lambda row: (row["receiver"], row["prompt"], row["peer"], row["sample"]))
    for found in ordered:
        if found["round"] != round:
            raise ValueError(f"a completion of round {found['round']} in the part of round {round}")
    columns = {field.name: pa.array([_plain(r[field.name]) for r in ordered], field.type) for field in SCHEMA}
    path = part_of(folder, round)
    path.parent.mkdir(exist_ok=True)
    _write(path, pa.table(columns, schema=SCHEMA))
    return path


def rounds(folder: Path) -> list[int]:
    """The rounds whose completions are kept, in order."""
    if (folder / MERGED).exists():
        found = pq.read_table(folder / MERGED, columns=["round"], partitioning=None)["round"]
        return sorted(found.unique().to_pylist())
    return [_round_of(path) for path in _parts(folder)]


def read(folder: Path, columns: Iterable[str] | None = None, only: Iterable[int] | None = None) -> pa.Table:
    """The completions of a run, from the merged file or the parts.

    All columns and rounds unless told otherwise.
    """
    names = SCHEMA.names if columns is None else list(columns)
    wanted = None if only is None else sorted(only)
    merged = folder / MERGED
    if merged.exists():
        filters = None if wanted is None else [("round", "in", wanted)]
        return pq.read_table(merged, columns=names, filters=filters, partitioning=None)
    parts = [path for path in _parts(folder) if wanted is None or _round_of(path) in wanted]
    tables = [pq.read_table(path, columns=names, partitioning=None) for path in parts]
    return pa.concat_tables([pa.schema([SCHEMA.field(name) for name in names]).empty_table(), *tables])


def merge(folder: Path) -> Path:
    """Join the parts to one file, a round at a time in memory, then delete them.

    Returns the merged file's path.
    """
    merged = folder / MERGED
    parts = _parts(folder)
    if not merged.exists():
        with (
            atomic.replacing(merged) as pending,
            pq.ParquetWriter(pending, SCHEMA, compression="zstd") as writer,
        ):
            for path in parts:
                table = pq.read_table(path, partitioning=None)
                if table.num_rows:
                    writer.write_table(table, row_group_size=table.num_rows)
    for path in parts:
        path.unlink()
    return merged


def drop_after(folder: Path, round: int) -> None:
    """Forget the completions of rounds beyond `round`.

    A merged file is taken apart again, so that a run can go on.
    """
    merged = folder / MERGED
    if merged.exists():
        file = pq.ParquetFile(merged)
        (folder / PARTS).mkdir(exist_ok=True)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            # Reading renames the inner fields of lists and maps; cast back, the part has its old bytes.
            _write(part_of(folder, table["round"][0].as_py()), table.cast(SCHEMA))
        merged.unlink()
    for path in _parts(folder):
        if _round_of(path) > round:
            path.unlink()


def _write(path: Path, table: pa.Table) -> None:
    with atomic.replacing(path) as pending:
        pq.write_table(table, pending, compression="zstd", row_group_size=max(1, table.num_rows))


def _parts(folder: Path) -> list[Path]:
    return sorted((folder / PARTS).glob("round-*.parquet"), key=_round_of)


def _round_of(path: Path) -> int:
    return int(path.stem.removeprefix("round-"))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _plain(value: Any) -> Any:
    """Strings, also in lists and pairs, with lone surrogates spelt out."""
    if isinstance(value, str) and _SURROGATE.search(value):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, tuple):
        return tuple(_plain(inner) for inner in value)
    return value
