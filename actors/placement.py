"""Turn a plan into one placement group, after checking that it fits."""

import threading
import time
from collections.abc import Sequence

from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from turncoat.actors.cluster import all_per_node, free_per_node
from turncoat.actors.waiting import CalledOff
from turncoat.platform.config.errors import BadInput
from turncoat.platform.plan import Bundle, shortage, weigh

GRANT_SECONDS = 60.0
"""How long a group that fits may take to be granted."""

SETTLE_SECONDS = 10.0
"""How long resources may take to be free again after the run that held them ended."""


def refuse_too_large(bundles: Sequence[Bundle]) -> None:
    """Raises BadInput, with the shortage, for a plan that would not fit even into the idle cluster."""
    if short := shortage(weigh(bundles, all_per_node())):
        raise BadInput(f"{short}. See `turncoat plan`, or set hardware.wait_seconds where the cluster grows")


def reserve(
    bundles: Sequence[Bundle], name: str, wait_seconds: float, stop: threading.Event
) -> PlacementGroup:
    """One group for the whole experiment, spread over the nodes.

    With `wait_seconds` 0 a plan that does not fit raises BadInput and names the shortage: at once if the
    cluster is too small, after a moment if others hold what is missing. Else the group is requested all the
    same, so that an autoscaler acts on it, and the shortage is raised when the time is up. Raises CalledOff
    once `stop` is set.
    """
    if not wait_seconds:
        refuse_too_large(bundles)
        deadline = time.monotonic() + SETTLE_SECONDS
        while short := shortage(weigh(bundles, free_per_node())):
            if time.monotonic() > deadline:
                raise BadInput(
                    f"{short}, as others use the cluster: see `turncoat plan`, or set hardware.wait_seconds"
                )
            if stop.wait(0.2):
                raise CalledOff("free resources")
    group = placement_group([bundle.resources for bundle in bundles], strategy="SPREAD", name=name)
    deadline = time.monotonic() + max(wait_seconds, GRANT_SECONDS)
    while not group.wait(timeout_seconds=1):
        if stop.is_set():
            release(group)
            raise CalledOff("a placement")
        if time.monotonic() > deadline:
            lines = weigh(bundles, free_per_node())
            release(group)
            raise BadInput(
                f"hardware.wait_seconds is {wait_seconds:g}, and no placement came in that time: "
                f"{shortage(lines) or 'the free resources are scattered over too many nodes'}"
            )
    return group


def within(group: PlacementGroup, bundle: int) -> PlacementGroupSchedulingStrategy:
    """Schedule an actor in one bundle of the group."""
    return PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)


def release(group: PlacementGroup) -> None:
    """Give the group back; its actors die with it."""
    remove_placement_group(group)
