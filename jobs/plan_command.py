"""`turncoat plan`: the resources a recipe asks for, against what is there, before anything is requested."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.study import Study
from turncoat.platform.plan import Bundle, Line, arms_of, demand_of, own_node, plan_of, shortage, weigh


def print_plan(described: Experiment | Study) -> None:
    """The bundles of each placement group, then what is needed, available and short of each resource.

    Of a study, the need is that of the runs that go on at a time. For "local" nothing is started; a cluster
    is asked what is free in it. Raises BadInput, which names the shortage, when the plan does not fit.
    """
    console = Console()
    arms = arms_of(described)
    for name, experiment in arms.items():
        console.print(bundle_table(plan_of(experiment), f"{name}: placement group"))
    bundles = demand_of(described)
    address = next(iter(arms.values())).hardware.address
    lines = weigh(bundles, [own_node(bundles)] if address == "local" else free_in_cluster(address))
    times = sum(bundle.role == "driver" for bundle in bundles)
    console.print(resource_table(lines, f"{times} run{'s' if times > 1 else ''} at a time on {address}"))
    if missing := shortage(lines):
        raise BadInput(missing)


def bundle_table(bundles: Sequence[Bundle], title: str) -> Table:
    table = Table("bundles", "role", "each", title=title, title_justify="left")
    for (role, each), count in Counter((bundle.role, amounts(bundle)) for bundle in bundles).items():
        table.add_row(str(count), role, each)
    return table


def resource_table(lines: Sequence[Line], title: str) -> Table:
    columns = ("resource", "needed", "available", "short", "largest bundle", "roomiest node")
    table = Table(*columns, title=title, title_justify="left")
    for line in lines:
        figures = (line.needed, line.available, line.short, line.largest, line.roomiest)
        table.add_row(line.resource, *(f"{figure:g}" for figure in figures))
    return table


def amounts(bundle: Bundle) -> str:
    return ", ".join(f"{amount:g} {resource}" for resource, amount in bundle.resources.items())


def free_in_cluster(address: str) -> list[dict[str, float]]:
    from turncoat.actors.cluster import connected, free_per_node

    with connected(address, cpus=0):
        return free_per_node()
