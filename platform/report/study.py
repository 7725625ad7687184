"""The page about a study: arms side by side, each over its seeds. `report.html` in the study's folder.

study.json               {name, arms, seeds, rows: [{arm, seed, run, summary}]}; run: path below the study
arms/<arm>/seed-<n>/     a run's folder each
"""

import json
from pathlib import Path
from typing import Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal.journal import REPORT, Journal
from turncoat.platform.journal.metrics import Line
from turncoat.platform.report.curves import Curve, by_peer, curve, mean_curve, of_kind, rejected
from turncoat.platform.report.figures import Picture, Trace, by_round
from turncoat.platform.report.page import write_page
from turncoat.platform.statistics import mean_interval, wilson

STUDY = "study.json"

COLUMNS: dict[str, tuple[str, str]] = {
    "attack success": ("attack", "success_rate"),
    "accuracy before": ("victim", "initial_accuracy"),
    "accuracy after": ("victim", "clean_accuracy"),
    "stop rate": ("defence", "stop_rate"),
    "false positives": ("defence", "false_positive_rate"),
    "cost of defence": ("defence", "cost_share"),
}
"""Columns of the table: where each stands in a run's summary. All are shares."""


def render_study(folder: Path) -> Path:
    """Write `report.html` about the study in `folder`.

    Returns its path. Raises BadInput when it holds none.
    """
    if not (folder / STUDY).is_file():
        raise BadInput(f"{folder} is no study: it has no {STUDY}")
    study = json.loads((folder / STUDY).read_text())
    arms = {arm: [row for row in study["rows"] if row["arm"] == arm] for arm in study["arms"]}
    lines = {row["run"]: Journal.open(folder / row["run"]).metrics().lines for row in study["rows"]}
    return write_page(
        folder / REPORT,
        "study.html",
        study=study,
        columns=list(COLUMNS),
        table={arm: table_row(rows, lines) for arm, rows in arms.items()},
        costs={arm: _mean(_values(rows, "defence", "cost_seconds")) for arm, rows in arms.items()},
        runs={arm: [_link(folder, row) for row in rows] for arm, rows in arms.items()},
        figures=figures(arms, lines),
    )


def table_row(rows: list[dict[str, Any]], lines: dict[str, list[Line]]) -> dict[str, Any]:
    """One arm: for each column the mean over its finished seeds and an interval.

    The interval is Student's t over the seeds; for a single seed it is Wilson's over completions.
    """
    finished = [row for row in rows if row["summary"]]
    cells = {}
    for column, (section, key) in COLUMNS.items():
        values = _values(finished, section, key)
        bounds = None
        if len(values) > 1:
            low, high = mean_interval(values)
            bounds = max(low, 0.0), min(high, 1.0)  # every column is a share
        elif values:
            bounds = _one_seed(column, values[0], finished, lines)
        cells[column] = {"mean": _mean(values), "interval": bounds}
    return {"cells": cells, "finished": len(finished), "started": len(rows)}


def figures(arms: dict[str, list[dict[str, Any]]], lines: dict[str, list[Line]]) -> list[Picture]:
    """Attack success and accuracy on held-out prompts by round.

    A thick mean per arm, a thin line per seed.
    """
    drawn = [
        by_round(
            title,
            y_label,
            _traces({arm: [_victims(lines[row["run"]], key) for row in rows] for arm, rows in arms.items()}),
        )
        for title, y_label, key in (
            ("Attack success, held out", "completions with the payload (%)", "success_rate"),
            ("Accuracy of honest peers, held out", "right answers (%)", "accuracy"),
        )
    ]
    return [figure for figure in drawn if figure]


def _victims(lines: list[Line], key: str) -> Curve:
    """The mean over a run's evaluated peers, twins counted once."""
    return mean_curve([curve(own, key) for own in by_peer(of_kind(lines, "evaluation")).values()])


def _traces(arms: dict[str, list[Curve]]) -> list[Trace]:
    traces = []
    for colour, (arm, seeds) in enumerate(arms.items()):
        if len(seeds) > 1:
            traces += [Trace(seed, colour, style="thin") for seed in seeds]
        traces.append(Trace(mean_curve(seeds), colour, arm, "thick"))
    return traces


def _one_seed(
    column: str, value: float, finished: list[dict[str, Any]], lines: dict[str, list[Line]]
) -> tuple[float, float] | None:
    """Wilson's interval over completions. None for the cost, which is no proportion of them."""
    row = next(row for row in finished if row["summary"])
    truth = {"stop rate": "poisoned", "false positives": "honest"}.get(column)
    if truth:
        rounds = by_peer(of_kind(lines[row["run"]], "round")).values()
        total = rejected([line for own in rounds for line in own], truth)[1]
    elif column == "cost of defence":
        return None
    else:
        total = row["summary"]["victim"]["evaluated"]
    return wilson(round(value * total), total) if total else None


def _values(rows: list[dict[str, Any]], section: str, key: str) -> list[float]:
    found = [(row["summary"] or {}).get(section) or {} for row in rows]
    return [part[key] for part in found if part.get(key) is not None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _link(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    page = Path(row["run"]) / REPORT
    return {"seed": row["seed"], "href": page.as_posix() if (folder / page).exists() else None}
