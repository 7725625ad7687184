"""What a finished run or study says in the terminal, and in a page of Markdown."""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal.journal import REPORT, SUMMARY
from turncoat.platform.report import markdown
from turncoat.platform.report.figures import Picture
from turncoat.platform.report.measures import FEDERATED, Measure, columns_of
from turncoat.platform.report.study import (
    STUDY,
    Grid,
    arms_of,
    grid_of,
    metrics_of,
    pictures,
    summaries_of,
    table_row,
)

Rows = list[list[str]]


@dataclass(frozen=True)
class Style:
    """How a figure's interval stands beside it.

    share, other: templates, of shares and of longer figures, which may be wrapped at a blank. digits: of the
    bounds of shares.
    """

    share: str
    other: str
    digits: int


PAGE = Style(" [{}–{}]", " [{}–{}]", 3)
TERMINAL = Style("\n{}–{}", "\n{} – {}", 2)
"""The interval goes below its figure, with two digits, so that the table fits a terminal of 90 columns."""


def print_results(folder: Path) -> None:
    """Print the table of a study, or the figures of a run, and where the report is."""
    console = Console()
    if not console.is_terminal:
        console.width = 100
    if (folder / STUDY).is_file():
        header, rows = study_table(folder, TERMINAL)
    elif (folder / SUMMARY).is_file():
        header, rows = run_table(json.loads((folder / SUMMARY).read_text()))
    else:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(
            name, justify="left" if i == 0 else "right", no_wrap=i == 0, min_width=min(9, len(name))
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(f"report: {folder / REPORT}", highlight=False, soft_wrap=True)


def study_table(folder: Path, style: Style = PAGE) -> tuple[list[str], Rows]:
    """Arm by arm: means over the seeds with their 95 % intervals."""
    study = json.loads((folder / STUDY).read_text())
    metrics = metrics_of(folder, study)
    columns = columns_of(summaries_of(study))
    rows = []
    for arm, mine in arms_of(study).items():
        found = table_row(mine, metrics)
        cells = [
            cell(found["cells"][name]["mean"], found["cells"][name]["interval"], style, measure)
            for name, measure in columns.items()
        ]
        rows.append([f"{arm} ({found['finished']})", *cells])
    return ["arm (seeds)", *columns], rows


def run_table(summary: dict[str, Any]) -> tuple[list[str], Rows]:
    """One run: each figure of its summary, with the interval where it has one."""
    if "traffic" in summary:
        return federated_table(summary)
    attack, victim, defence = summary["attack"], summary["victim"], summary["defence"]
    shown = {
        "attack success before": (attack["initial_success_rate"], None),
        "attack success": (attack["success_rate"], attack["success_interval"]),
        "accuracy before": (victim["initial_accuracy"], None),
        "accuracy": (victim["clean_accuracy"], None),
        "stop rate": (defence["stop_rate"], None),
        "false positives": (defence["false_positive_rate"], None),
        "cost of defence (share of the rounds)": (defence["cost_share"], None),
    }
    rows = [[name, cell(*value)] for name, value in shown.items()]
    return header_of(summary), rows


def federated_table(summary: dict[str, Any]) -> tuple[list[str], Rows]:
    """One federation: what it has of the figures that studies compare, and the bound."""
    measures = FEDERATED | {"bound MB": Measure("traffic", "bound_bytes", 3, 1e-6)}
    intervals = {"attack success": summary["attack"]["success_interval"]}
    rows = [
        [name, cell(value, intervals.get(name), measure=measure)]
        for name, measure in measures.items()
        if (value := measure.of(summary)) is not None
    ]
    return header_of(summary), rows


def header_of(summary: dict[str, Any]) -> list[str]:
    evaluated = summary["victim"]["evaluated"]
    return [f"{summary['name']}, seed {summary['seed']}", f"{evaluated} held-out completions"]


def cell(
    value: float | None,
    bounds: Any,
    style: Style = PAGE,
    measure: Measure | None = None,
) -> str:
    """Shares with three digits; other measures with their own."""
    if value is None:
        return "–"
    digits, of_bounds, template = 3, style.digits, style.share
    if measure is not None and measure.digits is not None:
        digits = of_bounds = measure.digits
        template = style.other
    text = f"{value:,.{digits}f}"
    return text + template.format(*(f"{bound:,.{of_bounds}f}" for bound in bounds)) if bounds else text


def save_study(folder: Path, into: Path) -> list[Path]:
    """Write a study's tables as Markdown, and its figures as SVG, into `into`; returns the files."""
    if not (folder / STUDY).is_file():
        raise BadInput(f"run is {str(folder)!r}: it holds no {STUDY}, --save takes a study")
    into.mkdir(parents=True, exist_ok=True)
    header, rows = study_table(folder)
    (into / "table.md").write_text(markdown.table(header, rows))
    written = [into / "table.md"]
    study = json.loads((folder / STUDY).read_text())
    metrics = metrics_of(folder, study)
    grid = grid_of(study, {arm: table_row(mine, metrics) for arm, mine in arms_of(study).items()})
    if grid:
        (into / "grid.md").write_text(grid_page(grid))
        written.append(into / "grid.md")
    return [*written, *save_pictures(pictures(study, metrics), into)]


def grid_page(grid: Grid) -> str:
    """A grid as Markdown: the first measure of every cell, then everything about each level of the first
    factor.
    """
    first, second = grid.factors
    overall = grid.measures[0]

    def cell(row: str, column: str, measure: str) -> str:
        if (row, column) in grid.skipped:
            return f"–<sup>{grid.skipped[row, column]}</sup>"
        return " ".join(grid.told(row, column).get(measure, ("–",))).strip()

    overview = [[row, *(cell(row, column, overall) for column in grid.columns)] for row in grid.rows]
    page = [f"**{overall}**", markdown.table([f"{first} \\ {second}", *grid.columns], overview)]
    for row in grid.rows:
        lines = [
            [column, *(cell(row, column, measure) for measure in grid.measures)] for column in grid.columns
        ]
        page += [f"**{first}: {row}**", markdown.table([second, *grid.measures], lines)]
    page += [f"<sup>{number}</sup> {note}\n" for number, note in enumerate(grid.notes, 1)]
    return "\n".join(f"{part.rstrip()}\n" for part in page)


def save_pictures(drawn: Iterable[Picture], into: Path) -> list[Path]:
    written = []
    for picture in drawn:
        path = into / f"{re.sub('[^a-z0-9]+', '-', picture.title.lower()).strip('-')}.svg"
        path.write_bytes(base64.b64decode(picture.image.partition(",")[2]))
        written.append(path)
    return written
