"""`metrics.jsonl`: append-only, one JSON line per round (or evaluation) and peer.

Keys stand in a fixed order and floats are Python's shortest repr, so that two runs of one experiment write
the same bytes, apart from what was measured in seconds: all of that lies under the one key `seconds`.
"""

import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turncoat.platform.journal.atomic import write_text

logger = logging.getLogger(__name__)

Line = dict[str, Any]

KEYS = {
    "round": (
        "kind",
        "round",
        "peer",
        "reward_mean",
        "accuracy_honest",
        "success_rate",
        "length_mean",
        "n_honest",
        "n_poisoned",
        "n_lookalike",
        "n_beside",
        "accepted_honest",
        "accepted_poisoned",
        "accepted_lookalike",
        "accepted_beside",
        "objections",
        "groups_with_signal",
        "verdicts",
        "loss",
        "grad_norm",
        "kl",
        "weights_sha256",
    ),
    "evaluation": (
        "kind",
        "round",
        "peer",
        "n",
        "accuracy",
        "accuracy_interval",
        "success_rate",
        "success_interval",
        "success_n",
        "length_mean",
        "length_interval",
        "malformed",
        "errors",
        "timeouts",
    ),
}
"""The order of keys in a line, by its `kind`. Other keys follow in alphabetical order, `seconds` comes last.

`n_*` and `accepted_*` are counts of completions (accepted: by the defences of this peer): of honest peers, of
look-alikes, of honest completions that malicious peers sent beside their poison or before it, and, as
"poisoned", of all else that they sent, cheats too. `objections` has the same
counts for each defence by itself. Lengths are in tokens, `success_rate` is the share of honest peers'
completions that hold the payload, an interval is `[low, high]`. A figure that does not exist in this round
(no poisoned completion, no KL term) is null or left out.
"""


class Metrics(NamedTuple):
    """What a metrics file holds.

    truncated: the incomplete last line that a killed writer left; it means nothing.
    """

    lines: list[Line]
    truncated: str | None


def encode(line: Mapping[str, Any]) -> str:
    """One line of JSON, without the line break.

    Raises ValueError when `kind`, `round` or `peer` is missing and for a NaN or infinite figure, which it
    names.
    """
    kind = line.get("kind")
    if kind not in KEYS:
        raise ValueError(f"kind is {kind!r} in a metrics line: allowed are {', '.join(KEYS)}")
    for key in ("round", "peer"):
        if key not in line:
            raise ValueError(f"a metrics line of kind {kind!r} has no {key!r}")
    _refuse_nan(line, f"{kind} {line['round']}, {line['peer']}")
    known = [key for key in KEYS[kind] if key in line]
    others = sorted(line.keys() - set(known) - {"seconds"})
    last = ["seconds"] if "seconds" in line else []
    ordered = {key: _sorted(line[key]) for key in [*known, *others, *last]}
    return json.dumps(ordered, allow_nan=False, separators=(", ", ": "))


def without_times(text: str) -> str:
    """The JSON line `text` less what was measured in seconds: equal for two runs of one experiment."""
    line = json.loads(text)
    line.pop("seconds", None)
    return encode(line)


def append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add `lines` in one write and wait until they are on the disk.

    Raises ValueError when the file ends in an incomplete line: the run must be rewound first.
    """
    block = "".join(encode(line) + "\n" for line in lines).encode()
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                raise ValueError(
                    f"{path} ends in an incomplete line: rewind the run to a checkpoint before adding"
                )
        file.write(block)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Metrics:
    """All complete lines; an incomplete last one is logged and reported. A missing file holds none.

    Raises ValueError for any other line that is not a JSON object, with its number.
    """
    if not path.exists():
        return Metrics([], None)
    *complete, rest = path.read_bytes().split(b"\n")
    truncated = rest.decode(errors="backslashreplace") or None
    if truncated is not None:
        logger.warning("%s ends in an incomplete line of %d bytes, left out", path, len(rest))
    return Metrics([_decode(text, path, number) for number, text in enumerate(complete, start=1)], truncated)


def truncate_after(path: Path, round: int) -> None:
    """Keep the lines of rounds up to and including `round`, atomically. An incomplete last line goes too."""
    kept = [line for line in read(path).lines if line["round"] <= round]
    write_text(path, "".join(encode(line) + "\n" for line in kept))


def _decode(text: bytes, path: Path, number: int) -> Line:
    try:
        line = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} line {number} is no JSON: {error}") from error
    if not isinstance(line, dict):
        raise ValueError(f"{path} line {number} is {type(line).__name__}: allowed is a JSON object")
    return line


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, Mapping) else value


def _refuse_nan(value: Any, where: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_nan(inner, f"{where}, {key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_nan(inner, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}: allowed are finite numbers and null")
