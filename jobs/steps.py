"""What the drivers of all kinds of experiment do between rounds: measure, seal, and go back."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from turncoat.jobs.progress import Board
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.journal.journal import Journal


class Members(Protocol):
    """A swarm's peers, or a federation's clients and server."""

    def evaluate(self, completions: int) -> Mapping[Any, Any]: ...

    def save(self, folder: Path) -> dict[str, str]: ...

    def load(self, folder: Path, round: int) -> dict[str, str]: ...


def due(experiment: Experiment | Federated, every: int, round: int) -> bool:
    """Whether what is done every so many rounds (0: never) and at the end is due after `round`."""
    return round == experiment.rounds or bool(every and round % every == 0)


def restore(journal: Journal, members: Members) -> int:
    """Go back to the newest checkpoint; returns its round, or -1 at the very start."""
    found = journal.latest_checkpoint()
    journal.rewind(found.round if found else -1)
    if found is None:
        return -1
    hashes = members.load(found.folder, found.round)
    if hashes != found.state["weights_sha256"]:
        raise ValueError(
            f"{found.folder.name} holds weights {hashes}, expected {found.state['weights_sha256']}"
        )
    return found.round


def evaluate(
    experiment: Experiment | Federated,
    journal: Journal,
    members: Members,
    round: int,
    board: Board,
    name: Callable[[Any], str],
) -> None:
    """Measure every policy on held-out prompts: many of them before the first round and after the last.

    name: whose policy it is, by the key under which `members` report it.
    """
    ends = round in (0, experiment.rounds)
    completions = experiment.evaluation.final_completions if ends else experiment.evaluation.completions
    start = time.perf_counter()
    found = members.evaluate(completions)
    seconds = {"total": time.perf_counter() - start}
    lines = [{"peer": name(key), **one.line(), "seconds": seconds} for key, one in found.items()]
    journal.record_evaluation(round, lines)
    board.evaluation(experiment, round, lines)


def checkpoint(experiment: Experiment | Federated, journal: Journal, members: Members, round: int) -> None:
    """Seal everything that the next round needs."""
    hashes = members.save(journal.pending_checkpoint(round).resolve())
    journal.commit_checkpoint(round, hashes, experiment.checkpoint.keep)
