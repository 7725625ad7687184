"""Wait for actors with a deadline, and say who was waited for, what for, and what is missing."""

import re
import threading
import time
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

POLL_SECONDS = 0.2
"""How often a wait looks whether it was called off."""


class PeerTimeout(TimeoutError):
    """Somebody did not answer in time."""


class PeerDied(RuntimeError):
    """An actor's process ended."""


class CalledOff(Exception):
    """The run was asked to stop while it waited."""


def wait_for(
    answers: Mapping[str, ray.ObjectRef], what: str, seconds: float, limit: str, stop: threading.Event
) -> dict[str, Any]:
    """The answers by name, in the order of `answers`, whatever order they arrive in.

    answers: who -> the reference of their answer. limit: where `seconds` comes from. Raises PeerTimeout or
    PeerDied that name who and what; the first cause itself when a call raised; CalledOff as soon as `stop` is
    set.
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
                f"waited {seconds:g} s ({limit}) for {what}: "
                f"{len(answers) - len(pending)} of {len(answers)} answered, missing {missing}"
            )
    return {who: ray.get(reference) for who, reference in answers.items()}


def wait_in_time(
    answers: Mapping[str, ray.ObjectRef], what: str, seconds: float, stop: threading.Event
) -> tuple[list[str], dict[str, PeerTimeout | PeerDied]]:
    """(who answered, in the order of `answers`; who -> why not).

    Each answer is fetched, to see whether it is an error, and not kept. Raises the first cause when a call
    raised, and CalledOff as soon as `stop` is set.
    """
    deadline = time.monotonic() + seconds
    pending = {reference: who for who, reference in answers.items()}
    lost: dict[str, PeerTimeout | PeerDied] = {}
    while pending and time.monotonic() < deadline:
        ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=POLL_SECONDS, fetch_local=False)
        for reference in ready:
            who = pending.pop(reference)
            try:
                _raise_if_failed(reference, who, what)
            except PeerDied as error:
                lost[who] = error
        if stop.is_set():
            raise CalledOff(what)
    lost |= {who: PeerTimeout(f"no answer within {seconds:g} s of {what}") for who in pending.values()}
    return [who for who in answers if who not in lost], lost


def _raise_if_failed(reference: ray.ObjectRef, who: str, what: str) -> None:
    try:
        ray.get(reference)
    except RayTaskError as error:
        # A call that needed a dead peer's answer fails with that peer's death.
        if isinstance(error.cause, RayActorError):
            raise PeerDied(_obituary(str(error), who, what)) from error
        raise error.cause from error
    except RayError as error:
        raise PeerDied(_obituary(str(error), who, what)) from error


def _obituary(report: str, who: str, what: str) -> str:
    """One line out of Ray's page: who died (by actor name, if the report holds one), during what, and how."""
    name = re.search(r"^\s*name: (\S+)$", report, re.MULTILINE)
    detail = re.search(r"Worker exit detail: (.*?)(?: Some common causes|$)", report, re.MULTILINE)
    how = (detail[1] if detail else report.strip().partition("\n")[0]).rstrip(".")
    return f"{name[1] if name else who} died during {what}: {how}"
