"""`turncoat roc`: how well the logged scores of each defence tell poison from honest text, at any threshold.

No run is repeated: every score was logged with the truth. For the same reason the curves are open-loop: they
say what another threshold would have done to these completions, not what would have become of a policy that
trained behind it (see platform/roc.py).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turncoat.jobs.runs import swarms_in
from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import seed_of
from turncoat.platform.journal import completions
from turncoat.platform.journal.journal import Journal
from turncoat.platform.registry import nearest
from turncoat.platform.roc import LOW, RATES, Roc, Scores, quantile_thresholds, roc, sweep
from turncoat.platform.scored import TRUTHS, read_scores

POSITIVE = tuple(truth for truth in TRUTHS if truth != "honest")

UNSEEN = ("seed", "name", "hardware", "checkpoint", "evaluation")
"""Runs whose configs differ in these alone are repetitions of one experiment, and are pooled too."""


@dataclass(frozen=True)
class Judged:
    """One defence in one run, or in all runs of an experiment (`pooled`)."""

    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    attack: str
    defence: str
    threshold: float | None
    scores: Scores
    counts: Mapping[str, Mapping[str, int]]
    roc: Roc
    sweep: list[dict[str, float | None]]

    @property
    def pooled(self) -> bool:
        return len(self.runs) > 1

    def line(self) -> dict[str, Any]:
        """Everything but the points of the curve, as JSON."""
        found = self.roc
        own = None
        if found.own:
            stop, lost = found.own
            own = {
                "threshold": self.threshold,
                "stop_rate": stop.line(),
                "false_positive_rate": lost.line(),
            }
        return {
            "runs": list(self.runs),
            "seeds": list(self.seeds),
            "attack": self.attack,
            "defence": self.defence,
            "prompt_groups": self.scores.n_groups,
            "completions": {truth: dict(counts) for truth, counts in self.counts.items()},
            "auc": found.area.line(),
            "partial_auc": {"below": LOW, **found.partial_area.line()},
            "stop_rate_at": [
                {
                    "false_positive_rate": rate,
                    **found.stop_rates[rate].line(),
                    "threshold": found.curve.threshold_at(rate),
                }
                for rate in RATES
            ],
            "own": own,
            "sweep": self.sweep,
        }


@dataclass(frozen=True)
class Asked:
    """What the command was asked. sweep: how many thresholds. thresholds: these very ones instead."""

    truth: str = "poisoned"
    peer: int | None = None
    replicates: int = 200
    seed: int = 0
    sweep: int = 0
    thresholds: tuple[float, ...] = ()


def judge(folders: Sequence[Path], asked: Asked) -> list[Judged]:
    """A curve for each run and defence, and after the runs of one experiment the pooled one.

    Raises BadInput for an unknown class of completions, and when no run has a score.
    """
    if asked.truth not in POSITIVE:
        raise BadInput(f"--truth is {asked.truth!r}{nearest(asked.truth, list(POSITIVE))}")
    found: dict[tuple[str, str], list[Judged]] = {}
    for run in swarms_in(folders):
        config = Journal.open(run).experiment()
        sections = {section.get("name") or section["kind"]: section for section in config["defences"]}
        experiment = json.dumps({key: config[key] for key in sorted(config) if key not in UNSEEN})
        if not completions.rounds(run):
            continue
        logged = read_scores(run, asked.peer)
        for defence in logged.scores:
            one = judged(
                (str(run),),
                (config["seed"],),
                config["attack"]["kind"],
                defence,
                sections[defence].get("threshold"),
                logged.of(defence, asked.truth),
                {truth: logged.counts(defence, truth) for truth in (asked.truth, "honest")},
                asked,
            )
            found.setdefault((experiment, defence), []).append(one)
    if not found:
        raise BadInput(
            f"run is {', '.join(map(str, folders))}: no completion has a score, "
            "allowed is a run with defences"
        )
    return [one for group in found.values() for one in (*group, *pooled(group, asked))]


def pooled(runs: Sequence[Judged], asked: Asked) -> list[Judged]:
    """The runs of one experiment as one, where there are several seeds. The first run of each counts: others
    wrote the same completions, and counting them again would narrow the intervals.
    """
    distinct: dict[tuple[int, ...], Judged] = {}
    for run in runs:
        distinct.setdefault(run.seeds, run)
    runs = list(distinct.values())
    if len(runs) < 2:
        return []
    counts = {
        truth: {key: sum(run.counts[truth][key] for run in runs) for key in runs[0].counts[truth]}
        for truth in runs[0].counts
    }
    one = runs[0]
    return [
        judged(
            tuple(name for run in runs for name in run.runs),
            tuple(seed for run in runs for seed in run.seeds),
            one.attack,
            one.defence,
            one.threshold,
            Scores.pooled([run.scores for run in runs]),
            counts,
            asked,
        )
    ]


def judged(
    runs: tuple[str, ...],
    seeds: tuple[int, ...],
    attack: str,
    defence: str,
    threshold: float | None,
    scores: Scores,
    counts: Mapping[str, Mapping[str, int]],
    asked: Asked,
) -> Judged:
    found = roc(scores, threshold, asked.replicates, seed_of(asked.seed, "roc"))
    wanted = list(asked.thresholds) or (quantile_thresholds(scores, asked.sweep) if asked.sweep else [])
    return Judged(runs, seeds, attack, defence, threshold, scores, counts, found, sweep(found.curve, wanted))


def lines_of(found: Sequence[Judged], truth: str) -> dict[str, Any]:
    """All figures, as JSON."""
    return {"truth": truth, "curves": [one.line() for one in found]}
