"""Join or start a Ray cluster, and know what it has free."""

import logging
import os
import secrets

import ray

NAMESPACE = "turncoat"


def connect(address: str, cpus: float) -> None:
    """Start a Ray of this process' own ("local"), or join the cluster at `address`; does nothing if that is done.

    cpus: what a local Ray is to offer at least. Logical CPUs are an account, not cores: two runs that share two cores
    may ask for a little more than two.
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
        ray.init(address="local", num_cpus=max(os.cpu_count() or 1, int(cpus) + 1), include_dashboard=False, **options)
    else:
        ray.init(address=address, **options)


def free_per_node() -> list[dict[str, float]]:
    """The resources of every living node that no group or actor holds, one mapping each."""
    free = ray._private.state.available_resources_per_node()
    return list(free.values())
