"""The commands about recipes: start one, go on with it, and see first what it names, says and needs.

As in every module of commands, what one needs is imported inside it, so that `turncoat --help` answers at
once.
"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from turncoat.jobs.arguments import RECIPES, Overrides, Recipe, Run

if TYPE_CHECKING:
    from turncoat.platform.config.experiment import Experiment
    from turncoat.platform.config.study import Study


def run(
    recipe: Recipe,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder. Default: a new one in runs/.")] = None,
) -> None:
    """Run a recipe. The last line printed is the run's folder."""
    experiment = read(recipe, overrides)
    from turncoat.jobs.launch import run as launch

    finish(launch(experiment, out, command_line()))


def resume(run: Run) -> None:
    """Go on with a run that was stopped, from its last checkpoint."""
    from turncoat.jobs.launch import resume as relaunch

    finish(relaunch(run, command_line()))


def plan(recipe: Recipe, overrides: Overrides = None) -> None:
    """Show which resources a recipe needs, without starting anything."""
    from turncoat.jobs.plan_command import print_plan

    print_plan(read(recipe, overrides))


def list_kinds(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="[tasks|attacks|defences|partitions|…]",
            help="Which of the tables; all if not said.",
        ),
    ] = None,
) -> None:
    """List what a recipe can name."""
    from turncoat.jobs.list_command import print_families

    print_families(family, RECIPES)


def show(recipe: Recipe, overrides: Overrides = None) -> None:
    """Print the resolved config, every default included, as YAML."""
    from turncoat.platform.config.loading import to_yaml

    typer.echo(to_yaml(read(recipe, overrides)), nl=False)


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
