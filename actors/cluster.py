"""Join or start a Ray cluster, and know what it has."""

import logging
import os
import secrets
import time

import ray

from turncoat.platform.config.errors import BadInput

NAMESPACE = "turncoat"

Node = dict[str, float]
"""Amounts by resource."""


def connect(address: str, cpus: float) -> None:
    """Start a Ray of this process' own ("local"), or join the cluster at `address`; once only.

    cpus: how many logical CPUs a Ray of our own offers. Raises BadInput if no cluster is at the address.
    """
    if ray.is_initialized():
        return
    # Ray's own usage question, banner and log streams would bury the run's progress.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options = {"namespace": NAMESPACE, "logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        # A token of its own keeps Ray from writing one into the home folder.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(16))
        ray.init(address="local", num_cpus=cpus, include_dashboard=False, **options)
        return
    try:
        ray.init(address=address, **options)
    except (ConnectionError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadInput(
            f"hardware.address is {address!r}, where no Ray cluster answers ({reason}): allowed are 'local', "
            "'auto' where `ray start` ran on this machine, or HOST:PORT of a cluster"
        ) from error


def free_per_node() -> list[Node]:
    """The resources of every living node that no group or actor holds, one mapping each."""
    return list(ray._private.state.available_resources_per_node().values())


def all_per_node() -> list[Node]:
    """The resources of every living node, held or free."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def wait_until_gone(run: str, seconds: float) -> None:
    """Wait for the actors of a run's earlier, killed attempt: a cluster needs a moment to end them.

    Raises BadInput when they are still there after `seconds`: then somebody is working on this run.
    """
    deadline = time.monotonic() + seconds
    while left := [name for name in ray.util.list_named_actors() if name.startswith(f"{run}/")]:
        if time.monotonic() > deadline:
            raise BadInput(f"run {run} has actors in this cluster, such as {left[0]}: it is still going on")
        time.sleep(0.2)
