"""The runs that a person names: by their own folders, or all of a study's by the study's."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.loading import MODELS
from turncoat.platform.journal.journal import EXPERIMENT, STUDY, Journal

STUDY_CONFIG = "study.yaml"
"""In a study's folder: the study itself, resolved."""
ARMS = "arms"


def path_of(arm: str, seed: int) -> str:
    """Where a run of a study lies below the study's folder."""
    return f"{ARMS}/{arm}/seed-{seed}"


def runs_in(folders: Sequence[Path]) -> list[Path]:
    """The folders of all runs, those of a study in order of its arms and seeds, each once, however spelt.

    Raises BadInput for a folder that holds neither a run nor a study's runs.
    """
    found: list[Path] = []
    for folder in folders:
        if (folder / EXPERIMENT).is_file():
            found.append(folder)
        elif runs := [path.parent for path in (folder / ARMS).glob(f"*/seed-*/{EXPERIMENT}")]:
            arms = json.loads((folder / STUDY).read_text())["arms"] if (folder / STUDY).is_file() else []
            order = {arm: i for i, arm in enumerate(arms)}
            found += sorted(
                runs,
                key=lambda run: (
                    order.get(run.parent.name, len(order)),
                    run.parent.name,
                    int(run.name.removeprefix("seed-")),
                ),
            )
        else:
            raise BadInput(
                f"run is {str(folder)!r}: it holds no {EXPERIMENT}, allowed is the folder of a run or study"
            )
    distinct: dict[Path, Path] = {}
    for run in found:
        distinct.setdefault(run.resolve(), run)
    return list(distinct.values())


def swarms_in(folders: Sequence[Path]) -> list[Path]:
    """The same of runs whose completions were scored by defences. Raises BadInput for a federation's."""
    runs = runs_in(folders)
    for run in runs:
        kind = Journal.open(run).experiment()["kind"]
        if MODELS.get(kind) is Federated:
            raise BadInput(
                f"run is {str(run)!r}, of kind {kind!r}, in which no defence scores completions: allowed are "
                "runs of kind 'decentralised'"
            )
    return runs


def run_name(experiment: Experiment | Federated, journal: Journal) -> str:
    """The run's name in the cluster: the experiment's, and a mark of the run's folder."""
    return f"{experiment.name}-{hashlib.sha256(str(journal.folder.resolve()).encode()).hexdigest()[:6]}"
