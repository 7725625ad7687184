"""The commands about what runs have left: reports, policies, and what their logged scores say."""

import math
from pathlib import Path
from typing import Annotated

import typer

from turncoat.jobs.arguments import AsJson, Overrides, Peer, Run, Runs, ScoredBy
from turncoat.platform.config.errors import BadInput


def report(
    run: Run,
    save: Annotated[
        Path | None,
        typer.Option(help="Also write a study's tables (Markdown) and figures (SVG) to this folder."),
    ] = None,
) -> None:
    """Write the HTML report of a run or a study, finished or not, and print its path."""
    from turncoat.jobs.runs import STUDY_CONFIG
    from turncoat.platform.report import render_run, render_study
    from turncoat.platform.report.study import STUDY

    if (run / STUDY_CONFIG).is_file():
        from turncoat.jobs.study import gather

        gather(run)
    if save is not None:
        from turncoat.jobs.results import save_study

        for path in save_study(run, save):
            typer.echo(path)
    typer.echo(render_study(run) if (run / STUDY).is_file() else render_run(run))


def evaluate(
    target: Annotated[
        str, typer.Argument(metavar="RUN|MODEL", help="A run's folder, or a policy's name or path.")
    ],
    overrides: Overrides = None,
    task: Annotated[
        str | None, typer.Option(help="Kind of task, where it is not to be the run's own.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", min=1, help="How many held-out completions.")] = None,
    peer: Peer = 0,
    as_json: AsJson = False,
) -> None:
    """Measure accuracy, attack success and length on held-out prompts, with intervals."""
    from turncoat.jobs.evaluate import evaluate as measure
    from turncoat.jobs.evaluate import table

    found = measure(target, task, n, overrides or [], peer)
    if as_json:
        import json

        typer.echo(json.dumps(found.line()))
    else:
        from rich.console import Console

        Console().print(table(found))


def export(
    run: Run,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder to write to.")],
    peer: Peer = 0,
) -> None:
    """Write the policy that a run has trained as a plain Hugging Face folder, and print its path."""
    from turncoat.jobs.export import export as write

    typer.echo(write(run, folder, peer))


def roc(
    runs: Runs,
    out: Annotated[
        Path | None, typer.Option(help="Also write figures (SVG), tables (Markdown) and JSON to this folder.")
    ] = None,
    as_json: AsJson = False,
    truth: Annotated[
        str,
        typer.Option(metavar="poisoned|filler|cheat|lookalike", help="Which completions are to be stopped."),
    ] = "poisoned",
    peer: ScoredBy = None,
    replicates: Annotated[int, typer.Option(min=0, help="Bootstrap resamplings of the prompts.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    sweep: Annotated[
        int, typer.Option(min=0, metavar="N", help="Also the rates of N thresholds, at honest quantiles.")
    ] = 0,
    thresholds: Annotated[
        str | None, typer.Option(metavar="T,T,…", help="The same at these thresholds.")
    ] = None,
) -> None:
    """Draw ROC curves from the logged scores of runs or studies; no run is repeated."""
    from turncoat.jobs.roc import Asked, judge, lines_of
    from turncoat.jobs.roc_output import print_curves, save_curves

    given = numbers(thresholds, "--thresholds") if thresholds else ()
    found = judge(runs, Asked(truth, peer, replicates, seed, sweep, given))
    if as_json:
        import json

        typer.echo(json.dumps(lines_of(found, truth)))
    else:
        print_curves(found, truth)
    for path in save_curves(found, truth, out) if out else ():
        typer.echo(path, err=as_json)


def calibrate(
    runs: Runs,
    defence: Annotated[str, typer.Option(help="Its name, or kind where it has none.", show_default=False)],
    fpr: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="The wanted false-positive rate.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The file to write (JSON).", show_default=False)],
    peer: ScoredBy = None,
) -> None:
    """Find a defence's threshold for a false-positive rate; a recipe names the file as `calibration`."""
    from turncoat.jobs.calibrate import calibrate as measure
    from turncoat.jobs.calibrate import told

    typer.echo(told(measure(runs, defence, fpr, out, peer)))
    typer.echo(out)


def compare(runs: Runs, as_json: AsJson = False) -> None:
    """Put runs, or the arms of studies, side by side, with differences to the first."""
    from turncoat.jobs.compare import entries_of, lines_of, print_comparison

    entries = entries_of(runs)
    if as_json:
        import json

        typer.echo(json.dumps(lines_of(entries)))
    else:
        print_comparison(entries)


def numbers(text: str, option: str) -> tuple[float, ...]:
    """`0,0.02` -> (0.0, 0.02). Raises BadInput."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = (math.nan,)
    if not all(map(math.isfinite, found)):
        raise BadInput(f"{option} is {text!r}: allowed are numbers, such as 0,0.02,0.1")
    return found
