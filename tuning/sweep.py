"""A Ray Tune sweep: every point of a grid is a whole experiment, in a placement group of its own.

`python -m turncoat.tuning.sweep RECIPE key=value,value … --out DIR`
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from turncoat.jobs.arguments import RECIPES
from turncoat.platform.calibration import calibrated
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import load, parse, to_yaml
from turncoat.tuning.grid import axes_of, experiments_of, points_of

TABLE = "sweep.parquet"


def trial(config: Mapping[str, Any]) -> None:
    """One experiment, in the trial's process and placement group; reports its summary's figures."""
    from ray import tune

    from turncoat.jobs.drive import drive
    from turncoat.jobs.progress import Board
    from turncoat.platform.journal.environment import environment
    from turncoat.platform.journal.journal import Journal

    experiment = parse(config["point"]["experiment"])
    folder = Path(config["point"]["folder"])
    journal = Journal.create(folder, to_yaml(experiment), environment("turncoat.tuning.sweep"))
    drive(experiment, journal, Board(), threading.Event())
    tune.report(leaves(journal.summary() or {}))


def resources(config: Mapping[str, Any]) -> Any:
    """The trial's placement group: the experiment's own plan, whose bundle 0 is the trial's process."""
    from ray import tune

    from turncoat.platform.plan import plan_of

    bundles = plan_of(parse(config["point"]["experiment"]))
    return tune.PlacementGroupFactory([bundle.resources for bundle in bundles], strategy="SPREAD")


def sweep(
    experiments: Sequence[Experiment], points: Sequence[Sequence[str]], out: Path, concurrency: int
) -> Path:
    """Run every point; writes one Parquet table with a row per trial, the failed ones marked, and returns its
    path.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from ray import tune

    from turncoat.actors.cluster import connected
    from turncoat.jobs.check import check
    from turncoat.platform.plan import own_node, plan_of

    for one in experiments:
        check(one)
    bundles = plan_of(experiments[0]) * concurrency
    configs = [
        {"experiment": one.model_dump(mode="json"), "folder": str(out / f"trial-{i:04d}")}
        for i, one in enumerate(experiments)
    ]
    tuner = tune.Tuner(
        tune.with_resources(trial, resources),
        param_space={"point": tune.grid_search(configs)},
        tune_config=tune.TuneConfig(max_concurrent_trials=concurrency),
        run_config=tune.RunConfig(name="tune", storage_path=str(out), verbose=0),
    )
    with connected(experiments[0].hardware.address, own_node(bundles)["CPU"]):
        results = tuner.fit()
    rows = []
    for result in map(results.__getitem__, range(len(results))):
        i = configs.index((result.config or {})["point"])
        error = str(result.error).strip().splitlines()[-1] if result.error else None
        found = {
            key: value
            for key, value in (result.metrics or {}).items()
            if "." in key or key in ("name", "seed")
        }
        rows.append({"trial": i, "point": " ".join(points[i]), "failed": error, **found})
    pq.write_table(pa.Table.from_pylist(sorted(rows, key=lambda row: row["trial"])), out / TABLE)
    return out / TABLE


def leaves(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The single figures of a summary by dotted name, e.g. `attack.success_rate`; null ones left out."""
    flat = {
        (f"{section}.{key}" if key else section): value
        for section, inner in summary.items()
        for key, value in (inner.items() if isinstance(inner, Mapping) else {"": inner}.items())
    }
    return {key: value for key, value in flat.items() if isinstance(value, int | float | str)}


def main(
    recipe: Annotated[str, typer.Argument(help="A recipe of one experiment.")],
    axes: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE,VALUE", help="What to vary, e.g. seed=0,1,2.")
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the trials and the table.")],
    concurrency: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 2,
) -> None:
    """Run every point of a grid as a Ray Tune trial, and print where the table is."""
    base = load(recipe, [], RECIPES)
    if not isinstance(base, Experiment):
        raise typer.BadParameter(f"{recipe} is a {base.kind}: a sweep takes a recipe of one experiment")
    points = points_of(axes_of(axes))
    experiments = [calibrated(one) for one in experiments_of(base.model_dump(mode="json"), points)]
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=False)
    typer.echo(sweep(experiments, points, out, concurrency))


if __name__ == "__main__":
    typer.run(main)
