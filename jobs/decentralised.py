"""The driver of a decentralised run, on one page: peers contribute, all gather, every honest peer learns."""

import threading
import time

from turncoat.actors.swarm import Swarm
from turncoat.jobs.progress import Board
from turncoat.jobs.runs import run_name
from turncoat.jobs.steps import checkpoint, due, evaluate, restore
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.gather import gather, parquet_rows, round_line
from turncoat.platform.ids import peer_name
from turncoat.platform.journal.journal import Journal
from turncoat.platform.registry import ATTACKS, TASKS
from turncoat.platform.summary import summarise


def drive(experiment: Experiment, journal: Journal, board: Board, stop: threading.Event) -> None:
    """Run an experiment from its journal's last checkpoint, or from the start, to its summary.

    Raises CalledOff, with all finished rounds kept, once `stop` is set.
    """
    with journal.writing():
        with Swarm(experiment, run_name(experiment, journal), stop) as swarm:
            go_on(experiment, journal, swarm, board)
        # Still as the only writer: whoever resumes meanwhile would rewind what is being merged.
        journal.merge_completions()
        journal.write_summary(summarise(experiment, journal.metrics().lines))


def go_on(experiment: Experiment, journal: Journal, swarm: Swarm, board: Board) -> None:
    """All rounds that the newest checkpoint has not seen."""
    task = TASKS.build(experiment.task)
    attack = ATTACKS.build(experiment.attack)
    done = restore(journal, swarm)
    if done < 0:
        evaluate(experiment, journal, swarm, 0, board, peer_name)
        checkpoint(experiment, journal, swarm, 0)
    for round in range(max(done, 0) + 1, experiment.rounds + 1):
        start = time.perf_counter()
        gathered = gather(experiment, task, round, swarm.contribute(round))
        rollout = time.perf_counter() - start
        outcomes = swarm.receive(round, gathered.completions, gathered.choices)
        total = time.perf_counter() - start
        lines = [
            round_line(
                gathered,
                peer,
                outcome,
                sha,
                attack.payload_in,
                {"rollout": rollout, **outcome.seconds, "total": total, "defences": outcome.costs},
            )
            for peer, (outcome, sha) in sorted(outcomes.items())
        ]
        rows = [
            row for peer, (one, _) in sorted(outcomes.items()) for row in parquet_rows(gathered, peer, one)
        ]
        journal.record_round(round, lines, rows)
        board.round(experiment, round, lines)
        if due(experiment, experiment.evaluation.every, round):
            evaluate(experiment, journal, swarm, round, board, peer_name)
        if due(experiment, experiment.checkpoint.every, round):
            checkpoint(experiment, journal, swarm, round)
