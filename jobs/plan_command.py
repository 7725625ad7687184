"""`turncoat plan`: the resources a recipe asks for, against what is there, before anything is requested."""

import os
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.study import Study
from turncoat.platform.plan import Bundle, plan_of, shortage, weigh


def print_plan(described: Experiment | Study) -> None:
    """The bundles of the placement group and the account per kind of resource; of a study, for every arm.

    Raises BadInput, which names the shortage, when a plan does not fit.
    """
    if isinstance(described, Study):
        for arm in described.arms:
            print_experiment(described.run_of(arm, described.seeds[0]), f"{arm}: placement group")
    else:
        print_experiment(described, "placement group")


def print_experiment(experiment: Experiment, title: str) -> None:
    bundles = plan_of(experiment)
    console = Console()
    table = Table("bundles", "role", "each", title=title, title_justify="left")
    for (role, each), count in Counter((bundle.role, amounts(bundle)) for bundle in bundles).items():
        table.add_row(str(count), role, each)
    console.print(table)
    address = experiment.hardware.address
    nodes = this_machine(bundles) if address == "local" else free_in_cluster(address)
    lines = weigh(bundles, nodes)
    table = Table(
        "resource",
        "needed",
        "available",
        "largest bundle",
        "largest node",
        title=f"on {address}",
        title_justify="left",
    )
    for line in lines:
        figures = (line.needed, line.available, line.largest, line.roomiest)
        table.add_row(line.resource, *(f"{figure:g}" for figure in figures))
    console.print(table)
    if missing := shortage(lines):
        raise BadInput(f"hardware: {address} is too small. {missing}")


def amounts(bundle: Bundle) -> str:
    return ", ".join(f"{amount:g} {resource}" for resource, amount in bundle.resources.items())


def this_machine(bundles: Sequence[Bundle]) -> list[dict[str, float]]:
    """What a Ray of our own would offer: as many logical CPUs as are needed, and the GPUs that there are."""
    needed = sum(bundle.resources.get("CPU", 0.0) for bundle in bundles)
    node = {"CPU": float(max(os.cpu_count() or 1, int(needed) + 1))}
    if any("GPU" in bundle.resources for bundle in bundles):
        import torch

        node["GPU"] = float(torch.cuda.device_count())
    return [node]


def free_in_cluster(address: str) -> list[dict[str, float]]:
    from turncoat.actors.cluster import connect, free_per_node

    connect(address, cpus=0)
    return free_per_node()
