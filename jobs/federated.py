"""The driver of a federated run, on one page: clients train, the server grants, sums and hands out."""

import threading
import time

from turncoat.actors.federation import Federation
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import run_name
from turncoat.jobs.steps import checkpoint, due, evaluate, restore
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
        evaluate(experiment, journal, federation, 0, board, name_of)
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
            seconds = time.perf_counter() - start
            held = federation.held_entries
            lines.append(server_line(lines, found.closing, federation.length, held, seconds))
        journal.record_figures(round, lines)
        board.round(experiment, round, lines[-1:])
        if due(experiment, experiment.evaluation.every, round):
            evaluate(experiment, journal, federation, round, board, name_of)
        if due(experiment, experiment.checkpoint.every, round):
            checkpoint(experiment, journal, federation, round)


def name_of(client: int | None) -> str:
    """The client's name; None is the server."""
    return SERVER if client is None else client_name(client)
