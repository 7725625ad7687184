"""The page about one run: `report.html` in its folder. Works on an unfinished run too.

A swarm's page is made here, a federation's in federated.py.
"""

from pathlib import Path
from typing import Any, Literal

from turncoat.platform.journal.journal import EXPERIMENT, REPORT, Journal
from turncoat.platform.journal.metrics import Line
from turncoat.platform.report import samples
from turncoat.platform.report.curves import accepted, by_peer, curve, derived, of_kind, rejected
from turncoat.platform.report.federated import KINDS, render_federated
from turncoat.platform.report.figures import Picture, Trace, by_round, score_histogram
from turncoat.platform.report.page import write_page
from turncoat.platform.statistics import wilson

TRAINING = "this round's completions"
HELD_OUT = "held out, 95 % interval"

RATES = {"honest": "false-positive rate", "poisoned": "stop rate", "lookalike": "look-alikes rejected"}
"""What the rejected share of each sort of completions is called. "poisoned": see journal/metrics.py."""
STYLES: dict[str, Literal["line", "dashed", "thin"]] = {
    "honest": "line",
    "poisoned": "dashed",
    "lookalike": "thin",
}


def render_run(folder: Path) -> Path:
    """Write `report.html` about the run in `folder`.

    Returns its path. Raises BadInput when it holds no run.
    """
    journal = Journal.open(folder)
    experiment = journal.experiment()
    if experiment["kind"] in KINDS:
        return render_federated(journal)
    lines, truncated = journal.metrics()
    rounds, evaluations = of_kind(lines, "round"), of_kind(lines, "evaluation")
    return write_page(
        folder / REPORT,
        "run.html",
        experiment=experiment,
        experiment_text=(folder / EXPERIMENT).read_text(),
        environment=journal.environment(),
        summary=journal.summary(),
        rounds_done=max((line["round"] for line in rounds), default=0),
        truncated=truncated is not None,
        victims={label: (own[0], own[-1]) for label, own in by_peer(evaluations).items()},
        defences=[label_of(section) for section in experiment.get("defences", [])],
        decisions=decisions(rounds) if experiment.get("defences") else {},
        each=of_each_defence(rounds),
        figures=figures(rounds, evaluations) + histograms(folder, experiment),
        samples=samples.choose(folder, samples.payload_of(experiment)),
    )


def label_of(section: dict[str, Any]) -> str:
    """What the scores of a defence are filed under."""
    return section.get("name") or section["kind"]


def decisions(rounds: list[Line]) -> dict[str, dict[str, Any]]:
    """What the defences did, over all rounds: rejected, of how many, with the Wilson interval of the share.

    Twins decide alike and count once.
    """
    distinct = _distinct(rounds)
    found = {}
    for truth, name in RATES.items():
        count, total = rejected(distinct, truth)
        if total:
            found[name] = {"truth": truth, **_rate(count, total)}
    return found


def of_each_defence(rounds: list[Line]) -> dict[str, dict[str, Any]]:
    """What each defence objected to, over all rounds, whatever was decided: the same rates, by truth.

    None where there were no such completions. seconds: of its own scoring, for each completion of the run.
    """
    distinct = _distinct(rounds)
    totals = {truth: sum(line.get(f"n_{truth}") or 0 for line in distinct) for truth in RATES}
    names = sorted({name for line in distinct for name in line.get("objections", {})})
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        said = [line["objections"][name] for line in distinct if name in line.get("objections", {})]
        costs = [own[name] for line in distinct if name in (own := line["seconds"]["defences"])]
        found[name] = {
            truth: _rate(sum(one[truth] for one in said), total) if total else None
            for truth, total in totals.items()
        }
        found[name]["seconds"] = sum(costs) / sum(totals.values()) if costs else None
    return found


def figures(rounds: list[Line], evaluations: list[Line]) -> list[Picture]:
    """The figures over rounds, as data URIs; those without a single point are left out."""
    drawn = [
        by_round(
            "Attack success",
            "completions with the payload (%)",
            _pair(rounds, evaluations, "success_rate", "success_interval"),
        ),
        by_round(
            "Accuracy of honest peers",
            "right answers (%)",
            [
                *_traces(rounds, "accuracy_honest", TRAINING),
                *_traces(evaluations, "accuracy", HELD_OUT, "accuracy_interval"),
            ],
        ),
        by_round(
            "Reward", "mean reward of honest completions", _traces(rounds, "reward_mean", None), share=False
        ),
        by_round(
            "Length",
            "mean length (tokens)",
            _pair(rounds, evaluations, "length_mean", "length_interval"),
            share=False,
        ),
        by_round("Accepted completions", "accepted (%)", _accepted(rounds)),
    ]
    return [figure for figure in drawn if figure]


def histograms(folder: Path, experiment: dict[str, Any]) -> list[Picture]:
    """A histogram per defence, with the threshold of its section in the config, which a run's calibration
    has already set.
    """
    thresholds = {label_of(section): section.get("threshold") for section in experiment.get("defences", [])}
    drawn = [
        score_histogram(defence, scores, thresholds.get(defence))
        for defence, scores in samples.scores_by_truth(folder).items()
    ]
    return [figure for figure in drawn if figure]


def _pair(rounds: list[Line], evaluations: list[Line], key: str, interval: str) -> list[Trace]:
    return [*_traces(rounds, key, TRAINING), *_traces(evaluations, key, HELD_OUT, interval)]


def _traces(lines: list[Line], key: str, label: str | None, interval: str | None = None) -> list[Trace]:
    """A trace per distinct peer: points where there are intervals, else a line."""
    peers = by_peer(lines)
    return [
        Trace(
            curve(own, key, interval),
            colour,
            label if len(peers) == 1 else ", ".join(filter(None, (name, label))),
            "points" if interval else "line",
        )
        for colour, (name, own) in enumerate(peers.items())
    ]


def _accepted(rounds: list[Line]) -> list[Trace]:
    peers = by_peer(rounds)
    return [
        Trace(
            derived(own, accepted(truth)),
            colour if len(peers) > 1 else list(RATES).index(truth),
            f"{name}, {truth}" if len(peers) > 1 else truth,
            STYLES[truth],
        )
        for colour, (name, own) in enumerate(peers.items())
        for truth in RATES
    ]


def _distinct(rounds: list[Line]) -> list[Line]:
    return [line for own in by_peer(rounds).values() for line in own]


def _rate(count: int, total: int) -> dict[str, Any]:
    return {"rate": count / total, "interval": wilson(count, total), "n": total}
