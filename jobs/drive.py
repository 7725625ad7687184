"""The driver of each kind of experiment."""

import threading

from turncoat.jobs import decentralised, federated
from turncoat.jobs.progress import Board
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.journal.journal import Journal


def drive(experiment: Experiment | Federated, journal: Journal, board: Board, stop: threading.Event) -> None:
    """Run an experiment from its journal's last checkpoint, or from the start, to its summary.

    Raises CalledOff, with all finished rounds kept, once `stop` is set.
    """
    if isinstance(experiment, Federated):
        federated.drive(experiment, journal, board, stop)
    else:
        decentralised.drive(experiment, journal, board, stop)
