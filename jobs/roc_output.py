"""What `turncoat roc` shows: tables in the terminal; tables, figures and JSON in a folder."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from turncoat.jobs.roc import Judged, lines_of
from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal import atomic
from turncoat.platform.roc import LOW, RATES, Estimate

if TYPE_CHECKING:
    from turncoat.platform.report.roc import Drawn

Rows = list[list[str]]


def print_curves(found: Sequence[Judged], truth: str) -> None:
    """The tables, in the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console.width = 120
    for header, rows, title in tables(found, truth, "\n{}"):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for i, name in enumerate(header):
            width = 24 if i == 0 else None
            table.add_column(name, justify="right" if i else "left", overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*row)
        console.print(title, table, highlight=False, markup=False, soft_wrap=True)


def tables(found: Sequence[Judged], truth: str, interval: str = " [{}]") -> list[tuple[list[str], Rows, str]]:
    """(header, rows, title): of the figures, of what was counted, and of each sweep."""
    figures = ["attack / defence, run", "AUC", f"AUC < {LOW:.0%}", *(f"stop@{rate:.1%}" for rate in RATES)]
    figures += ["threshold", "stop", "false pos."]
    counted = ["attack / defence, run", truth, "failed", "unasked", "honest", "failed", "unasked", "prompts"]
    rows, counts, sweeps = [], [], []
    for one, where in zip(found, short_names(found), strict=True):
        name = f"{one.attack} / {one.defence}" + interval.format(where)
        estimates = [one.roc.area, one.roc.partial_area, *one.roc.stop_rates.values()]
        own = one.roc.own or (Estimate(None), Estimate(None))
        cells = [figure(estimate, interval) for estimate in (*estimates, *own)]
        cells.insert(-2, number(one.threshold))
        rows.append([name, *cells])
        numbers = [n for side in one.counts.values() for n in side.values()]
        counts.append([name, *(f"{n:,}" for n in (*numbers, one.scores.n_groups))])
        if one.sweep:
            lines = [[number(value) for value in line.values()] for line in one.sweep]
            title = f"{one.attack} / {one.defence}, {where}: other thresholds, open loop"
            sweeps.append((["threshold", "stop rate", "false positives"], lines, title))
    return [
        (
            figures,
            rows,
            f"{truth} against honest; stop@x: at x false positives; 95 % bootstrap intervals by prompt",
        ),
        (counted, counts, "completions with a score; failed: without, rejected always; unasked: left out"),
        *sweeps,
    ]


def short_names(found: Sequence[Judged]) -> list[str]:
    """The runs' folders, without what all of them begin with."""
    runs = {run: Path(run).resolve() for one in found for run in one.runs}
    shared = Path(os.path.commonpath([path.parent for path in runs.values()]))
    names = []
    for one in found:
        own = Path(os.path.commonpath([runs[run] for run in one.runs])).relative_to(shared)
        names.append(f"{own} ({len(one.runs)} runs)".removeprefix(". ") if one.pooled else str(own))
    return names


def figure(found: Estimate, interval: str) -> str:
    if found.value is None:
        return "–"
    bounds = "–".join(f"{bound:.3f}".removeprefix("0") for bound in found.interval or ())
    return f"{found.value:.3f}" + (interval.format(bounds) if bounds else "")


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def save_curves(found: Sequence[Judged], truth: str, into: Path) -> list[Path]:
    """Write `roc.json`, `roc.md` and a figure for each attack (SVG) into `into`; returns the files.

    Raises BadInput where `into` cannot be a folder.
    """
    from turncoat.platform.report import markdown
    from turncoat.platform.report.roc import roc_figure

    if into.exists() and not into.is_dir():
        raise BadInput(f"--out is {str(into)!r}, which is a file: allowed is a folder")
    into.mkdir(parents=True, exist_ok=True)
    text = json.dumps(lines_of(found, truth), indent=2, allow_nan=False) + "\n"
    atomic.write_text(into / "roc.json", text)
    page = [f"**{title}**\n\n{markdown.table(header, rows)}" for header, rows, title in tables(found, truth)]
    atomic.write_text(into / "roc.md", "\n".join(page))
    written = [into / "roc.json", into / "roc.md"]
    for attack in dict.fromkeys(one.attack for one in found):
        path = into / f"roc-{re.sub('[^A-Za-z0-9]+', '-', attack)}.svg"
        mine = [
            (one, where) for one, where in zip(found, short_names(found), strict=True) if one.attack == attack
        ]
        path.write_bytes(roc_figure(f"{truth.capitalize()} of attack {attack} against honest", drawn(mine)))
        written.append(path)
    return written


def drawn(found: Sequence[tuple[Judged, str]]) -> "list[Drawn]":
    """How the curves of one attack are drawn: a colour for each experiment's defence, single runs thin."""
    from turncoat.platform.report.roc import Drawn

    pooled = {(run, one.defence): one.runs for one, _ in found if one.pooled for run in one.runs}
    keys = [(pooled.get((one.runs[0], one.defence), one.runs), one.defence) for one, _ in found]
    several = len({defence for _, defence in keys}) < len(set(keys))
    colours = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    traces = []
    for (one, where), key in zip(found, keys, strict=True):
        thin = not one.pooled and (one.runs[0], one.defence) in pooled
        label = f"{one.defence}, {where}" if several or one.pooled else one.defence
        traces.append(Drawn(one.roc.curve, one.roc.own, colours[key], None if thin else label))
    return traces
