"""The page about a study: arms side by side, each over its seeds. `report.html` in the study's folder.

study.json               {name, arms, seeds, grid, skipped, rows: [{arm, seed, run, summary}]}
arms/<arm>/seed-<n>/     a run's folder each

run: the run's path below the study. summary: null until the run is finished. grid: factor -> levels, whose
combinations are arms. skipped: combination -> why it is none.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, STUDY, Journal
from turncoat.platform.journal.metrics import Line
from turncoat.platform.report.curves import (
    Curve,
    by_peer,
    curve,
    length_interval,
    mean_curve,
    of_kind,
    out_of,
)
from turncoat.platform.report.figures import Dots, Picture, Trace, by_round, in_plane
from turncoat.platform.report.measures import EVERY, IN_A_GRID, Measure, columns_of, is_federated
from turncoat.platform.report.page import write_page
from turncoat.platform.statistics import mean_interval, wilson

COST = Measure("defence", "cost_seconds", 2)
"""In seconds, of all rounds."""


def render_study(folder: Path) -> Path:
    """Write `report.html` about the study in `folder`.

    Returns its path. Raises BadInput when it holds none.
    """
    if not (folder / STUDY).is_file():
        raise BadInput(f"{folder} is no study: it has no {STUDY}")
    study = json.loads((folder / STUDY).read_text())
    arms = arms_of(study)
    lines = metrics_of(folder, study)
    table = {arm: table_row(rows, lines) for arm, rows in arms.items()}
    return write_page(
        folder / REPORT,
        "study.html",
        study=study,
        federated=is_federated(summaries_of(study)),
        columns=list(columns_of(summaries_of(study))),
        table=table,
        told=text_of,
        costs={arm: _mean(_values(rows, COST)) for arm, rows in arms.items()},
        runs={arm: [_link(folder, row) for row in rows] for arm, rows in arms.items()},
        grid=grid_of(study, table),
        figures=pictures(study, lines),
    )


def summaries_of(study: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Of all runs, None for those that are not finished."""
    return [row["summary"] for row in study["rows"]]


def arms_of(study: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each arm."""
    return {arm: [row for row in study["rows"] if row["arm"] == arm] for arm in study["arms"]}


def metrics_of(folder: Path, study: dict[str, Any]) -> dict[str, list[Line]]:
    """The metrics lines of each run; none of those that have not begun."""
    return {
        row["run"]: Journal.open(folder / row["run"]).metrics().lines
        if (folder / row["run"] / EXPERIMENT).is_file()
        else []
        for row in study["rows"]
    }


def table_row(rows: list[dict[str, Any]], lines: dict[str, list[Line]]) -> dict[str, Any]:
    """One arm: for each column the mean over its finished seeds and an interval.

    The interval is Student's t over the seeds; for a single seed it is Wilson's over completions, and of its
    length the evaluation's own.
    """
    finished = [row for row in rows if row["summary"]]
    cells = {}
    for column, measure in EVERY.items():
        values = _values(finished, measure)
        bounds = None
        if len(values) > 1:
            bounds = mean_interval(values)
            if measure.is_share:
                bounds = max(bounds[0], 0.0), min(bounds[1], 1.0)
        elif values:
            bounds = _one_seed(column, values[0], finished, lines)
        cells[column] = {"mean": _mean(values), "interval": bounds}
    return {"cells": cells, "finished": len(finished), "started": len(rows)}


@dataclass(frozen=True)
class Grid:
    """A study of two factors as a table. rows, columns: the factors' levels. cells: (row, column) -> what
    `table_row` says. skipped: (row, column) -> number of its footnote. notes: the footnotes, from 1 on.
    measures: what a cell tells."""

    factors: tuple[str, str]
    rows: list[str]
    columns: list[str]
    cells: dict[tuple[str, str], dict[str, Any]]
    skipped: dict[tuple[str, str], int]
    notes: list[str]
    measures: tuple[str, ...] = IN_A_GRID

    def told(self, row: str, column: str) -> dict[str, tuple[str, str]]:
        """Measure -> (figure, interval) as text, of what a cell has; none of a skipped or unfinished one."""
        cells = self.cells.get((row, column), {"cells": {}})["cells"]
        return {
            measure: text_of(measure, cells[measure])
            for measure in self.measures
            if measure in cells and cells[measure]["mean"] is not None
        }


def text_of(measure: str, found: dict[str, Any]) -> tuple[str, str]:
    """A figure and its interval as text."""
    return EVERY[measure].told(found["mean"], found["interval"])


def grid_of(study: dict[str, Any], table: dict[str, dict[str, Any]]) -> Grid | None:
    """The grid of a study of exactly two factors; None for others, which have the table of arms."""
    factors = study.get("grid") or {}
    if len(factors) != 2:
        return None
    first, second = factors.values()
    notes = list(dict.fromkeys(study["skipped"].values()))
    names = {(one, other): f"{one}.{other}" for one in first for other in second}
    return Grid(
        tuple(factors),
        first,
        second,
        {place: table[name] for place, name in names.items() if name in table},
        {
            place: 1 + notes.index(study["skipped"][name])
            for place, name in names.items()
            if name in study["skipped"]
        },
        notes,
        tuple(columns_of(summaries_of(study))) if is_federated(summaries_of(study)) else IN_A_GRID,
    )


def parts_of(study: dict[str, Any]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The arms that share a figure: all of them, or, in a grid, those of a level of its first factor."""
    arms = arms_of(study)
    parts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    levels: list[str] = next(iter((study.get("grid") or {}).values()), [])
    for arm, rows in arms.items():
        level, dot, rest = arm.partition(".")
        part, label = (level, rest) if dot and level in levels else ("", arm)
        parts.setdefault(part, {})[label] = rows
    return parts


def pictures(study: dict[str, Any], lines: dict[str, list[Line]]) -> list[Picture]:
    """All figures of a study, part by part."""
    found = []
    for part, arms in parts_of(study).items():
        found += figures(arms, lines, part, is_federated(summaries_of(study)))
        if picture := accuracy_by_uplink({arm: table_row(rows, lines) for arm, rows in arms.items()}, part):
            found.append(picture)
    return found


def accuracy_by_uplink(table: dict[str, dict[str, Any]], part: str = "") -> Picture | None:
    """A point for each arm that sends anything, a level for those that do not. None for swarms.

    table: what `table_row` says of each arm.
    """
    title = "Accuracy against uplink, held out"
    if all(row["cells"]["uplink MB"]["mean"] is None for row in table.values()):
        return None
    dots = []
    for colour, (arm, row) in enumerate(table.items()):
        uplink, accuracy = row["cells"]["uplink MB"], row["cells"]["accuracy after"]
        if accuracy["mean"] is None:
            continue
        level, bounds = (accuracy["mean"],), (accuracy["interval"],)
        if uplink["mean"] is None:
            dots.append(Dots(level, colour, arm))
        else:
            dots.append(Dots(level, colour, arm, (uplink["mean"],), (uplink["interval"],), bounds))
    return in_plane(
        f"{title}: {part}" if part else title,
        "uplink of all clients in all rounds (MB)",
        "right answers (%)",
        dots,
    )


def figures(
    arms: dict[str, list[dict[str, Any]]],
    lines: dict[str, list[Line]],
    part: str = "",
    federated: bool = False,
) -> list[Picture]:
    """Attack success and accuracy on held-out prompts by round.

    A thick mean per arm, a thin line per seed. part: of the study, for the titles.
    """
    drawn = [
        by_round(
            f"{title}: {part}" if part else title,
            y_label,
            _traces({arm: [_victims(lines[row["run"]], key) for row in rows] for arm, rows in arms.items()}),
        )
        for title, y_label, key in (
            ("Attack success, held out", "completions with the payload (%)", "success_rate"),
            (
                "Accuracy, held out" if federated else "Accuracy of honest peers, held out",
                "right answers (%)",
                "accuracy",
            ),
        )
    ]
    return [figure for figure in drawn if figure]


def _victims(lines: list[Line], key: str) -> Curve:
    """The mean over a run's evaluated peers, twins counted once."""
    return mean_curve([curve(own, key) for own in by_peer(of_kind(lines, "evaluation")).values()])


def _traces(arms: dict[str, list[Curve]]) -> list[Trace]:
    traces = []
    for colour, (arm, begun) in enumerate(arms.items()):
        seeds = [seed for seed in begun if seed.rounds]
        if len(seeds) > 1:
            traces += [Trace(seed, colour, style="thin") for seed in seeds]
        traces.append(Trace(mean_curve(seeds), colour, arm, "thick"))
    return traces


def _one_seed(
    column: str, value: float, finished: list[dict[str, Any]], lines: dict[str, list[Line]]
) -> tuple[float, float] | None:
    """Wilson's interval over completions, and of a length the evaluation's; None where there is none."""
    own = lines[next(row for row in finished if row["summary"])["run"]]
    if column == "length":
        return length_interval(own)
    total = out_of(column, own)
    return wilson(round(value * total), total) if total else None


def _values(rows: list[dict[str, Any]], measure: Measure) -> list[float]:
    return [value for row in rows if (value := measure.of(row["summary"])) is not None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _link(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    page = Path(row["run"]) / REPORT
    return {"seed": row["seed"], "href": page.as_posix() if (folder / page).exists() else None}
