"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

RECIPES = Path(__file__).parent / "recipes"
"""The recipes that ship."""

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
Peer = Annotated[
    int, typer.Option(min=0, help="Which honest peer of the run, or which client of a local_only one.")
]
