"""Wait for actors with a deadline, and say who was waited for, what for, and what is missing."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

POLL_SECONDS = 0.5
"""How often a wait looks whether it was called off."""


class PeerTimeout(TimeoutError):
    """Somebody did not answer in time."""


class PeerDied(RuntimeError):
    """An actor's process ended."""


class CalledOff(Exception):
    """The run was asked to stop while it waited."""


def wait_for(answers: Mapping[str, ray.ObjectRef], what: str, seconds: float, stop: threading.Event) -> dict[str, Any]:
    """The answers by name, in the order of `answers`, whatever order they arrive in.

    answers: who -> the reference of their answer. Raises PeerTimeout or PeerDied that name who and what; the first
    cause itself when a call raised; CalledOff as soon as `stop` is set.
    """
    deadline = time.monotonic() + seconds
    pending = {reference: who for who, reference in answers.items()}
    while pending:
        ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=POLL_SECONDS)
        for reference in ready:
            _raise_if_failed(reference, pending.pop(reference), what)
        if stop.is_set():
            raise CalledOff(what)
        if pending and time.monotonic() > deadline:
            missing = ", ".join(sorted(pending.values()))
            raise PeerTimeout(
                f"waited {seconds:g} s (hardware.deadline_seconds) for {what}: "
                f"{len(answers) - len(pending)} of {len(answers)} answered, missing {missing}"
            )
    return {who: ray.get(reference) for who, reference in answers.items()}


def _raise_if_failed(reference: ray.ObjectRef, who: str, what: str) -> None:
    try:
        ray.get(reference, timeout=60)
    except RayTaskError as error:
        raise error.cause from error
    except (RayActorError, GetTimeoutError) as error:
        raise PeerDied(f"{who} died during {what}: {str(error).strip().splitlines()[0]}") from error
