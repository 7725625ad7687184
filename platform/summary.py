"""`summary.json`: what came of a finished run, from its journal alone."""

from collections.abc import Sequence
from typing import Any

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.journal.metrics import Line
from turncoat.platform.pooling import outcome_of
from turncoat.platform.report.curves import by_peer

PHASES = ("rollout", "verify", "score", "learn", "total")


def summarise(experiment: Experiment, lines: Sequence[Line]) -> dict[str, Any]:
    """The summary of the metrics lines of a whole run.

    Success and accuracy are pooled over the evaluated policies (one, where all honest peers are twins). Stop
    rate (of what malicious peers sent, filler and cheats included), false-positive rate (of honest peers'
    completions) and that of look-alikes count completions over all rounds and receivers; null without
    defences, or without such completions. `each` has the same for every defence by itself: the share that it
    objected to, whatever was decided, and the seconds of its own scoring, without the forward passes that it
    needs. Peers that computed the same count once: copies would narrow the intervals. Seconds are a mean over
    receivers, who work at the same time.
    """
    receivers = by_peer(lines)
    lines = [line for own in receivers.values() for line in own]
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    rounds = [line for line in lines if line["kind"] == "round"]
    attack, victim = outcome_of(evaluations, experiment.rounds)
    defended = bool(experiment.defences)
    seconds = {phase: sum(line["seconds"][phase] for line in rounds) / len(receivers) for phase in PHASES}
    cost = seconds["score"] if defended else None
    return {
        "kind": experiment.kind,
        "name": experiment.name,
        "seed": experiment.seed,
        "rounds": experiment.rounds,
        "attack": {
            "kind": experiment.attack.kind,
            **attack,
        },
        "defences": [defence.kind for defence in experiment.defences],
        "victim": victim,
        "baseline": {"clean_accuracy": None},
        "defence": {
            "stop_rate": _rejected(rounds, "poisoned") if defended else None,
            "false_positive_rate": _rejected(rounds, "honest") if defended else None,
            "lookalike_rejection_rate": _rejected(rounds, "lookalike") if defended else None,
            "cost_seconds": cost,
            "cost_share": cost / seconds["total"] if cost is not None else None,
            "each": {name: _of_defence(name, rounds, len(receivers)) for name in experiment.labels()},
        },
        "seconds": seconds,
    }


def _of_defence(name: str, rounds: Sequence[Line], receivers: int) -> dict[str, float | None]:
    def share(side: str) -> float | None:
        n = sum(line[f"n_{side}"] for line in rounds)
        return sum(line["objections"][name][side] for line in rounds) / n if n else None

    return {
        "stop_rate": share("poisoned"),
        "false_positive_rate": share("honest"),
        "lookalike_rejection_rate": share("lookalike"),
        "seconds": sum(line["seconds"]["defences"][name] for line in rounds) / receivers,
    }


def _rejected(rounds: Sequence[Line], truth: str) -> float | None:
    n = sum(line[f"n_{truth}"] for line in rounds)
    return 1 - sum(line[f"accepted_{truth}"] for line in rounds) / n if n else None
