"""Turn a plan into one placement group, after checking that it fits."""

import time
from collections.abc import Sequence

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from turncoat.actors.cluster import free_per_node
from turncoat.platform.config.errors import BadInput
from turncoat.platform.plan import Bundle, shortage, weigh

GRANT_SECONDS = 60.0
"""How long a group that fits may take to be granted."""


def reserve(bundles: Sequence[Bundle], name: str, wait_seconds: float) -> PlacementGroup:
    """One group for the whole experiment, spread over the nodes.

    With `wait_seconds` 0 a plan that does not fit raises BadInput at once and names the shortage; else the group is
    requested all the same, so that an autoscaler acts on it, and the shortage is raised when the time is up.
    """
    short = shortage(weigh(bundles, free_per_node()))
    if short and not wait_seconds:
        raise BadInput(f"hardware: the cluster is too small. {short}. See `turncoat plan`, or hardware.wait_seconds")
    group = placement_group([bundle.resources for bundle in bundles], strategy="SPREAD", name=name)
    deadline = time.monotonic() + max(wait_seconds, GRANT_SECONDS)
    while not group.wait(timeout_seconds=1):
        if time.monotonic() > deadline:
            lines = weigh(bundles, free_per_node())
            release(group)
            raise BadInput(
                f"hardware: no placement within hardware.wait_seconds = {wait_seconds:g}: "
                f"{shortage(lines) or 'the free resources are scattered over too many nodes'}"
            )
    return group


def within(group: PlacementGroup, bundle: int) -> PlacementGroupSchedulingStrategy:
    """Schedule an actor in one bundle of the group."""
    return PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)


def release(group: PlacementGroup) -> None:
    """Give the group back; its actors die with it. Does nothing once Ray is down."""
    if ray.is_initialized():
        remove_placement_group(group)
