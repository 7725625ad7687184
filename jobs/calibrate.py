"""`turncoat calibrate`: the threshold of a defence for a wanted false-positive rate, from logged scores."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turncoat.jobs.runs import swarms_in
from turncoat.platform.calibration import bound_of, fit
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.loading import parse
from turncoat.platform.journal import atomic
from turncoat.platform.journal.journal import Journal
from turncoat.platform.registry import unknown
from turncoat.platform.scored import read_scores


def calibrate(
    folders: Sequence[Path], defence: str, rate: float, out: Path, peer: int | None
) -> dict[str, Any]:
    """Write the threshold of `defence` for the false-positive rate `rate` to `out`; returns what is written.

    All honest completions of the runs count, best those of a run without attack: honest peers that have taken
    up a payload write what is to be stopped. Raises BadInput for a run without that defence, for runs of
    different settings, for copies of one run, as `fit` does, and where `out` is a folder.
    """
    if out.is_dir():
        raise BadInput(f"--out is {str(out)!r}, which is a folder: allowed is a file")
    runs = swarms_in(folders)
    experiments: list[Experiment] = []
    scores, bounds, counts = [], [], {"scored": 0, "failed": 0, "unasked": 0}
    for run in runs:
        experiment = parse(Journal.open(run).experiment())
        if defence not in experiment.labels():
            raise BadInput(f"--defence of {str(run)!r}: {unknown(defence, experiment.labels(), 'defence')}")
        if experiment in experiments:
            # Completions that are counted twice make rates possible, and intervals narrow, that are not.
            raise BadInput(
                f"run is {str(run)!r}, the same experiment as {str(runs[experiments.index(experiment)])!r}: "
                "allowed are others, e.g. of other seeds"
            )
        logged = read_scores(run, peer)
        if defence not in logged.scores:
            raise BadInput(
                f"run is {str(run)!r}: {defence!r} was never asked; allowed is a run with its scores"
            )
        scores.append(logged.of(defence, "poisoned"))
        for key, n in logged.counts(defence, "honest").items():
            counts[key] += n
        bounds.append(bound_of(experiment, defence))
        experiments.append(experiment)
        for key, value in bounds[0].items():
            if bounds[-1].get(key) != value:
                raise BadInput(
                    f"run is {str(run)!r}, where {key} is {bounds[-1].get(key)!r}: "
                    f"allowed is {value!r}, as in the first run"
                )
    found = fit(np.concatenate([one.values[~one.positive] for one in scores]), rate)
    content = {
        "threshold": found.threshold,
        "false_positive_rate": {
            "wanted": rate,
            "measured": found.rejected / found.n,
            "interval": list(found.interval),
        },
        "honest_completions": counts,
        "bound": bounds[0],
        # For people: a threshold is not refused for another task or attack.
        "made_from": {
            "runs": [str(run) for run in runs],
            "seeds": [one.seed for one in experiments],
            "attacks": sorted({one.attack.kind for one in experiments}),
            "tasks": sorted({one.task.kind for one in experiments}),
            "policies": sorted({one.policy_of(0) for one in experiments}),
        },
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(out, json.dumps(content, indent=2, allow_nan=False) + "\n")
    return content


def told(content: dict[str, Any]) -> str:
    """The same in a sentence, and a warning where honest completions may hold a payload."""
    rate, counts = content["false_positive_rate"], content["honest_completions"]
    low, high = rate["interval"]
    attacks = [attack for attack in content["made_from"]["attacks"] if attack != "none"]
    return (
        f"threshold {content['threshold']:.6g} rejects {rate['measured']:.3%} of "
        f"{counts['scored'] + counts['failed']:,} honest completions (wanted {rate['wanted']:.3%}; "
        f"Wilson 95 %: {low:.3%} to {high:.3%})"
        + (f"; made under attack ({', '.join(attacks)}): a run without is better" if attacks else "")
    )
