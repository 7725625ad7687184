"""The command line, `turncoat`. Exit codes: 0 done, 2 bad input, 1 failed, 130 stopped by Ctrl-C.

What a command needs is imported inside it, so that `turncoat --help` answers at once.
"""

import math
import shlex
import sys
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from turncoat.platform.config.errors import BadInput

if TYPE_CHECKING:
    from turncoat.platform.config.experiment import Experiment
    from turncoat.platform.config.study import Study

RECIPES = Path(__file__).parent / "recipes"

app = typer.Typer(
    name="turncoat",
    help="Run and inspect attacks and defences in decentralised GRPO, on Ray.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Recipe = Annotated[str, typer.Argument(help="A path to a .yaml file, or the name of a recipe that ships.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, e.g. rounds=20 defences.0.k=5.")
]
Run = Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)]
Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN…", help="Folders of runs or studies.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")]
ScoredBy = Annotated[
    int | None, typer.Option(min=0, help="Which honest peer's scores. Default: the first that has any.")
]
Peer = Annotated[int, typer.Option(min=0, help="Which honest peer of the run.")]


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turncoat {version('turncoat')}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of a failure.")] = False,
) -> None:
    """Run and inspect attacks and defences in decentralised GRPO, on Ray."""


@app.command()
def run(
    recipe: Recipe,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder. Default: a new one in runs/.")] = None,
) -> None:
    """Run a recipe. The last line printed is the run's folder."""
    experiment = read(recipe, overrides)
    from turncoat.jobs.launch import run as launch

    finish(launch(experiment, out, command_line()))


@app.command()
def resume(run: Run) -> None:
    """Go on with a run that was stopped, from its last checkpoint."""
    from turncoat.jobs.launch import resume as relaunch

    finish(relaunch(run, command_line()))


@app.command()
def plan(recipe: Recipe, overrides: Overrides = None) -> None:
    """Show which resources a recipe needs, without starting anything."""
    from turncoat.jobs.plan_command import print_plan

    print_plan(read(recipe, overrides))


@app.command()
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


@app.command("list")
def list_kinds(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="[tasks|attacks|defences|judges|sandboxes|engines|learners|recipes|policies]",
            help="Which; all if not said.",
        ),
    ] = None,
) -> None:
    """List what a recipe can name."""
    from turncoat.jobs.list_command import print_families

    print_families(family, RECIPES)


@app.command()
def show(recipe: Recipe, overrides: Overrides = None) -> None:
    """Print the resolved config, every default included, as YAML."""
    from turncoat.platform.config.loading import to_yaml

    typer.echo(to_yaml(read(recipe, overrides)), nl=False)


@app.command("eval")
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


@app.command()
def export(
    run: Run,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder to write to.")],
    peer: Peer = 0,
) -> None:
    """Write the policy that a run has trained as a plain Hugging Face folder, and print its path."""
    from turncoat.jobs.export import export as write

    typer.echo(write(run, folder, peer))


@app.command()
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


@app.command()
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


@app.command()
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


def finish(folder: Path) -> None:
    """Print the results; the last line is the run's folder."""
    from turncoat.jobs.results import print_results

    print_results(folder)
    typer.echo(folder)


def read(recipe: str, overrides: list[str] | None) -> "Experiment | Study":
    from turncoat.platform.config.loading import load

    return load(recipe, overrides or [], RECIPES)


def command_line() -> str:
    return shlex.join(["turncoat", *sys.argv[1:]])


def main() -> int:
    """Entry point of the console script: run one command; what it raises becomes a line and an exit code.

    Click's own runner is left out: its errors fill a box of several lines.
    """
    # `--debug` may stand anywhere, since it is added to a command that has just failed.
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    command = typer.main.get_command(app)
    usage_error: Any = typer.BadParameter.__base__
    try:
        with command.make_context("turncoat", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except usage_error as error:
        return complain(error.format_message(), 2)
    except KeyboardInterrupt as stop:
        # Whoever knows the run's folder passes the interrupt on as KeyboardInterrupt(folder).
        how = (
            f"go on with: turncoat resume {shlex.quote(str(stop.args[0]))}"
            if stop.args
            else "nothing was kept"
        )
        print(f"stopped; {how}", file=sys.stderr)
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        cause = raised_remotely(error)
        if isinstance(cause, BadInput):
            return complain(str(cause), 2)
        # Whoever knows the run's folder adds how to go on with it.
        hints = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        what = f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}{hints}"
        return complain(what if debug else f"{what} (traceback: {keep_traceback(error)}, or add --debug)", 1)
    return 0


def complain(message: str, code: int) -> int:
    print("error:", " ".join(message.split()), file=sys.stderr)
    return code


def raised_remotely(error: BaseException) -> BaseException:
    """What a remote method raised: Ray wraps it, and the wrapper's text is a page of remote traceback."""
    while isinstance(cause := getattr(error, "cause", None), BaseException):
        error = cause
    return error


def keep_traceback(error: Exception) -> str:
    """The file that holds the full traceback: nobody wants to repeat an hour's run to see it."""
    with tempfile.NamedTemporaryFile("w", prefix="turncoat-", suffix=".txt", delete=False) as file:
        traceback.print_exception(error, file=file)
    return file.name


if __name__ == "__main__":
    sys.exit(main())
