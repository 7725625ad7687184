"""Join or start a Ray cluster, and know what it has."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

from turncoat.platform.config.errors import BadInput

NAMESPACE = "turncoat"

KNOCK_SECONDS = 10.0
"""How long a cluster's address may take to take up a connection."""

Node = dict[str, float]
"""Amounts by resource."""


@contextmanager
def connected(address: str, cpus: float) -> Iterator[None]:
    """Start a Ray of this process' own ("local") or join the cluster at `address`, and leave it at the end.

    Within another `connected` it does nothing. cpus: how many logical CPUs a Ray of our own offers. Raises
    BadInput if no cluster is at the address.
    """
    if ray.is_initialized():
        yield
        return
    connect(address, cpus)
    try:
        yield
    finally:
        # Ray holds some of its warnings back until now: what is printed later is the last word.
        ray.shutdown()


def connect(address: str, cpus: float) -> None:
    # Ray's own usage question, banner and log streams would bury the run's progress.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options: dict[str, Any] = {"namespace": NAMESPACE, "logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        # A token of its own keeps Ray from writing one into the home folder.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(16))
        ray.init(address="local", num_cpus=int(cpus), include_dashboard=False, **options)
        return
    try:
        host, _, port = address.rpartition(":")
        if host and port.isdigit():
            # Ray itself would try for minutes, and then speak of sessions.
            socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()
        ray.init(address=address, **options)
    except (OSError, ValueError) as error:
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


def wait_for_name(name: str, seconds: float) -> None:
    """Wait until no actor has this name: those of a run's last attempt end a moment after it.

    Raises BadInput when it is still taken after `seconds`: then somebody else is working on the run.
    """
    deadline = time.monotonic() + seconds
    while is_taken(name):
        if time.monotonic() > deadline:
            raise BadInput(f"{name} is an actor in this cluster: its run goes on, allowed is one at a time")
        time.sleep(0.1)


def is_taken(name: str) -> bool:
    try:
        ray.get_actor(name)
    except ValueError:
        return False
    return True
