"""A few completions of each sort to read, with the payload marked.

What peers wrote is hostile: it is cut to a readable length, characters that hide or reorder text are spelt
out, and each piece is escaped before the marks are put between the pieces.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup, escape

from turncoat.platform.ids import CompletionId
from turncoat.platform.journal import completions
from turncoat.platform.records import Truth
from turncoat.platform.registry import ATTACKS
from turncoat.platform.report.page import visible

EACH = 3
"""How many completions are shown of each sort."""
LONGEST = 1500
"""After so many characters a text is cut."""


@dataclass(frozen=True)
class Sample:
    """One completion as the page shows it.

    Text: escaped, with marks. row: the row of `completions.parquet`.
    """

    id: CompletionId
    prompt: str
    text: Markup
    row: dict[str, Any]


def payload_of(experiment: dict[str, Any]) -> str | None:
    """The pattern that finds the attack's payload in a text; None where it has none."""
    return ATTACKS.build(ATTACKS.parse(experiment["attack"])).payload_pattern()


def marked(text: str, payload: str | None) -> Markup:
    """`text` escaped, every match of the pattern `payload` (in any case) inside <mark>."""
    cut, rest = text[:LONGEST], len(text) - LONGEST
    html, at = Markup(""), 0
    for match in re.finditer(payload, cut, re.IGNORECASE) if payload else ():
        html += escape(visible(cut[at : match.start()]))
        html += Markup("<mark>{}</mark>").format(escape(visible(match.group())))
        at = match.end()
    html += escape(visible(cut[at:]))
    return html + f" … {rest:,} more characters" if rest > 0 else html


def choose(folder: Path, payload: str | None) -> dict[str, list[Sample]]:
    """Samples by heading, as the first receiving peer saw them; headings without any are left out."""
    light = completions.read(
        folder, ["round", "prompt", "peer", "sample", "truth", "receiver", "accepted"]
    ).to_pylist()
    if not light:
        return {}
    receiver = min(row["receiver"] for row in light)
    seen = [row for row in light if row["receiver"] == receiver]
    first, last = min(row["round"] for row in seen), max(row["round"] for row in seen)
    of = {truth: [row for row in seen if row["truth"] == truth] for truth in get_args(Truth)}
    sorts = {
        f"Honest, round {first}": [row for row in of["honest"] if row["round"] == first],
        f"Honest, round {last}": [row for row in of["honest"] if row["round"] == last and last > first],
        "Poisoned, accepted": [row for row in of["poisoned"] if row["accepted"]],
        "Poisoned, rejected": [row for row in of["poisoned"] if not row["accepted"]],
        "Cheat, accepted": [row for row in of["cheat"] if row["accepted"]],
        "Cheat, rejected": [row for row in of["cheat"] if not row["accepted"]],
        "Look-alike, rejected": [row for row in of["lookalike"] if not row["accepted"]],
        "Honest, rejected": [row for row in of["honest"] if not row["accepted"]],
    }
    chosen = {heading: _spread(rows) for heading, rows in sorts.items() if rows}
    wanted = {_id(row) for rows in chosen.values() for row in rows}
    full = _full_rows(folder, receiver, wanted)
    return {heading: [_sample(full[_id(row)], payload) for row in rows] for heading, rows in chosen.items()}


def scores_by_truth(folder: Path) -> dict[str, dict[str, list[float]]]:
    """The finite scores of all completions: defence -> truth -> scores."""
    table = completions.read(folder, ["truth", "scores"])
    scores = table["scores"].combine_chunks()
    found: dict[str, dict[str, list[float]]] = {}
    for defence in sorted(pc.unique(scores.keys).to_pylist()):
        values = pc.map_lookup(scores, query_key=pa.scalar(defence), occurrence="first")
        usable = pc.fill_null(pc.is_finite(values), False)
        found[defence] = {
            truth: values.filter(
                pc.and_(usable, pc.equal(table["truth"].combine_chunks(), truth))
            ).to_pylist()
            for truth in get_args(Truth)
        }
    return found


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A few rows, of different prompts as far as there are any, evenly over the rounds."""
    firsts: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows:
        firsts.setdefault((row["round"], row["prompt"]), row)
    found = list(firsts.values())
    if len(found) <= EACH:
        return found
    return [found[index * (len(found) - 1) // (EACH - 1)] for index in range(EACH)]


def _full_rows(folder: Path, receiver: int, wanted: set[CompletionId]) -> dict[CompletionId, dict[str, Any]]:
    found = {}
    for round in sorted({id.round for id in wanted}):
        for row in completions.read(folder, only=[round]).to_pylist():
            if row["receiver"] == receiver and _id(row) in wanted:
                found[_id(row)] = row
    return found


def _id(row: dict[str, Any]) -> CompletionId:
    return CompletionId(row["round"], row["prompt"], row["peer"], row["sample"])


def _sample(row: dict[str, Any], payload: str | None) -> Sample:
    return Sample(id=_id(row), prompt=row["prompt_text"], text=marked(row["text"], payload), row=row)
