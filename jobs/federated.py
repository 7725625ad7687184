"""The driver of a federated run, on one page: clients train, the server grants, sums and hands out."""

import threading
import time
from typing import Any

from turncoat.actors.federation import Federation
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import run_name
from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.lines import SERVER, client_lines, server_line
from turncoat.platform.federation.summary import summarise
from turncoat.platform.ids import client_name
from turncoat.platform.journal.journal import Journal


def drive(experiment: Federated, journal: Journal, board: Board, stop: threading.Event) -> None:
    """Run an experiment from its journal's last checkpoint, or from the start, to its summary.

    Raises CalledOff, with all finished rounds kept, once `stop` is set.
    """
    with journal.writing():
        with Federation(experiment, run_name(experiment, journal), journal.folder, stop) as federation:
            go_on(experiment, journal, federation, board)
            federation.finish()
        journal.write_summary(summarise(experiment, journal.metrics().lines))


def go_on(experiment: Federated, journal: Journal, federation: Federation, board: Board) -> None:
    """All rounds that the newest checkpoint has not seen."""
    done = restore(journal, federation)
    if done < 0:
        evaluate(experiment, journal, federation, 0, board)
        checkpoint(experiment, journal, federation, 0)
    for round in range(max(done, 0) + 1, experiment.rounds + 1):
        start = time.perf_counter()
        found = federation.round(round)
        everyone = list(range(experiment.learners))
        lines = client_lines(
            experiment, everyone, found.reports, found.absent, found.refused, found.granted,
            found.downlink, found.closing,
        )  # fmt: skip
        if found.closing is not None:
            lines.append(server_line(lines, found.closing, federation.length, time.perf_counter() - start))
        journal.record_figures(round, lines)
        board.round(experiment, round, lines[-1:])
        every = experiment.evaluation.every
        if round == experiment.rounds or (every and round % every == 0):
            evaluate(experiment, journal, federation, round, board)
        if round == experiment.rounds or round % experiment.checkpoint.every == 0:
            checkpoint(experiment, journal, federation, round)


def restore(journal: Journal, federation: Federation) -> int:
    """Go back to the newest checkpoint; returns its round, or -1 at the very start."""
    found = journal.latest_checkpoint()
    journal.rewind(found.round if found else -1)
    if found is None:
        return -1
    hashes = federation.load(found.folder, found.round)
    if hashes != found.state["weights_sha256"]:
        raise ValueError(
            f"{found.folder.name} holds weights {hashes}, expected {found.state['weights_sha256']}"
        )
    return found.round


def evaluate(
    experiment: Federated, journal: Journal, federation: Federation, round: int, board: Board
) -> None:
    """Measure every policy on held-out prompts: many of them before the first round and after the last."""
    ends = round in (0, experiment.rounds)
    completions = experiment.evaluation.final_completions if ends else experiment.evaluation.completions
    start = time.perf_counter()
    found = federation.evaluate(completions)
    seconds = {"total": time.perf_counter() - start}
    lines: list[dict[str, Any]] = [
        {"peer": SERVER if client is None else client_name(client), **one.line(), "seconds": seconds}
        for client, one in found.items()
    ]
    journal.record_evaluation(round, lines)
    board.evaluation(experiment, round, lines)


def checkpoint(experiment: Federated, journal: Journal, federation: Federation, round: int) -> None:
    """Seal everything that the next round needs."""
    hashes = federation.save(journal.pending_checkpoint(round).resolve())
    journal.commit_checkpoint(round, hashes, experiment.checkpoint.keep)
