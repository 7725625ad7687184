"""`turncoat compare`: runs, or arms of studies, side by side; differences to the first one."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turncoat.jobs.runs import runs_in
from turncoat.platform.compare import Entry, Estimate, changed, difference, figures_of
from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal.journal import EXPERIMENT, SUMMARY, Journal
from turncoat.platform.report.measures import Measure

Tables = list[tuple[str, list[str], list[list[str]]]]


def entries_of(folders: Sequence[Path]) -> list[Entry]:
    """An entry per run named by its own folder, and per arm of a study, over the arm's finished seeds.
    Folders of one name, such as `seed-0` of two arms, are named as they were typed.

    Raises BadInput for a run that is not finished, and for fewer than two entries.
    """
    entries = []
    names = Counter(folder.resolve().name for folder in folders)
    for folder in folders:
        runs, name = runs_in([folder]), folder.resolve().name
        name = name if names[name] == 1 else str(folder)
        if (folder / EXPERIMENT).is_file():
            if not (folder / SUMMARY).is_file():
                raise BadInput(f"run is {str(folder)!r}, which is not finished: allowed are finished runs")
            entries.append(entry(name, runs))
            continue
        arms: dict[str, list[Path]] = {}
        for run in runs:
            if (run / SUMMARY).is_file():
                arms.setdefault(run.parent.name, []).append(run)
        prefix = f"{name}/" if len(folders) > 1 else ""
        entries += [entry(prefix + arm, own) for arm, own in arms.items()]
    if len(entries) < 2:
        raise BadInput(
            f"run is {', '.join(map(str, folders))}: allowed are two finished runs or more, or a study "
            "with two arms of such"
        )
    return entries


def entry(name: str, runs: Sequence[Path]) -> Entry:
    journals = [Journal.open(run) for run in runs]
    return Entry(
        name,
        [journal.summary() or {} for journal in journals],
        [journal.metrics().lines for journal in journals],
        [journal.experiment() for journal in journals],
    )


def lines_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Every entry as JSON; those after the first with their differences to it."""
    compared = figures_of(entries)
    lines = []
    for i, one in enumerate(entries):
        figures = {figure: one.estimate(figure) for figure in compared}
        line: dict[str, Any] = {
            "name": one.name,
            "seeds": one.seeds,
            "attack": one.attack,
            "defences": one.defences,
            "figures": {name: found.line() if found else None for name, found in figures.items()},
        }
        if i:
            deltas = {figure: difference(figure, one, entries[0]) for figure in compared}
            line["difference"] = {name: found.line() if found else None for name, found in deltas.items()}
            line["config"] = {key: list(pair) for key, pair in changed(one, entries[0]).items()}
        lines.append(line)
    return lines


def tables(entries: Sequence[Entry]) -> Tables:
    """(title, header, rows): figures, differences to the first, and settings that differ from the first's."""
    first, others = entries[0], entries[1:]
    compared = figures_of(entries)
    figures = [
        [
            f"{one.name}\n{one.attack} / {in_short(one.defences)}",
            ", ".join(map(str, one.seeds)),
            *(shown(measure, one.estimate(figure)) for figure, measure in compared.items()),
        ]
        for one in entries
    ]
    deltas = [
        [
            one.name,
            *(shown(measure, difference(figure, one, first), "+") for figure, measure in compared.items()),
        ]
        for one in others
    ]
    settings = [
        [one.name if i == 0 else "", key, absent(there), absent(here)]
        for one in others
        for i, (key, (there, here)) in enumerate(changed(one, first).items())
    ]
    methods = sorted(
        {
            found.method
            for one in others
            for figure in compared
            if (found := difference(figure, one, first)) and found.method
        }
    )
    how = f"; 95 % intervals: {', '.join(methods)}" if methods else ""
    return [
        ("held out, after the last round; 95 % intervals", ["run", "seeds", *compared], figures),
        (f"difference to {first.name}{how}", ["run", *compared], deltas),
        (f"settings that differ from {first.name}", ["run", "key", first.name, "here"], settings),
    ]


def print_comparison(entries: Sequence[Entry]) -> None:
    """The tables, in the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console.width = 110
    for title, header, rows in tables(entries):
        if not rows:
            continue
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for i, name in enumerate(header):
            left = i == 0 or "key" in header
            width = min(24, max(len(line) for row in rows for line in row[0].split("\n"))) if i == 0 else None
            table.add_column(name, justify="left" if left else "right", overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*row)
        console.print(title, table, highlight=False, markup=False, soft_wrap=True)


def in_short(defences: Sequence[str]) -> str:
    """The first two by name: the column is narrow, and the settings that differ are listed below."""
    more = f" +{len(defences) - 2}" if len(defences) > 2 else ""
    return ", ".join(defences[:2]) + more or "no defence"


def shown(measure: Measure, found: Estimate | None, sign: str = "") -> str:
    """A figure above its interval: shares with three digits, others with their own."""
    if found is None:
        return "–"
    digits = 3 if measure.digits is None else measure.digits
    text = f"{found.value:{sign}.{digits}f}"
    if found.interval:
        low, high = found.interval
        text += f"\n{low:{sign}.{digits}f} to {high:{sign}.{digits}f}"
    return text


def absent(value: Any) -> str:
    return "–" if value is None else str(value)
