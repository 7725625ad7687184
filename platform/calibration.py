"""Thresholds for a wanted false-positive rate, and the circumstances that they hold in.

A score depends on who computes it: on the policy, its precision, the engine that writes the completions,
how they are sampled. A threshold that was found in one setting says nothing in another, so it carries a
description of its own, and is refused where anything in it differs. What it cannot be bound to is time:
honest completions of a policy that has learnt more score otherwise.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from math import ceil, floor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.loading import parse
from turncoat.platform.policies.load import find_policy
from turncoat.platform.registry import DEFENCES
from turncoat.platform.statistics import wilson

Run = TypeVar("Run", Experiment, Federated)

UNBOUND = ("threshold", "calibration", "name", "effect")
"""Settings of a defence that its scores do not depend on."""
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")


@dataclass(frozen=True)
class Fit:
    """A threshold and what it does to the n honest scores that it was taken from. interval: Wilson, 95 %."""

    threshold: float
    n: int
    rejected: int
    interval: tuple[float, float]


def fit(honest: NDArray[np.float64], rate: float) -> Fit:
    """The lowest threshold that a new honest completion exceeds with probability `rate` or less.

    honest: [n] scores, NaN where one could not be computed, which counts as rejected. Of n scores as many may
    lie above it as floor(rate (n + 1)) - 1: the new one is as likely to have any rank among n + 1 as any
    other. Source: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005 (split conformal
    prediction). It holds for exchangeable completions and on average over calibrations; the interval's
    upper end says what the false-positive rate of this one may be. Completions of one prompt resemble each
    other, so the interval is, if anything, too narrow.

    Raises BadInput when there are too few for such a rate (1 / rate - 1 are needed), or too many without
    score.
    """
    n, needed = len(honest), ceil(1 / rate - 1 - 1e-9)
    above = floor(rate * (n + 1) + 1e-9) - 1
    if above < 0:
        raise BadInput(
            f"--fpr is {rate:g} with {n} honest completions: allowed are at least {needed} of them"
        )
    ascending = np.sort(np.where(np.isnan(honest), np.inf, honest))
    threshold = float(ascending[n - 1 - above])
    if not np.isfinite(threshold):
        failed = int(np.isinf(ascending).sum())
        raise BadInput(
            f"--fpr is {rate:g}, but {failed} of {n} honest completions have no score and are always "
            f"rejected: allowed is more than {failed / n:.3g}"
        )
    rejected = int((ascending > threshold).sum())
    return Fit(threshold, n, rejected, wilson(rejected, n))


def bound_of(experiment: Experiment, label: str) -> dict[str, Any]:
    """What a threshold of the defence `label` is bound to: dotted name -> value, in order of importance.

    policy.weights_sha256: of the honest peers' initial weights; judge.weights_sha256: of a judge that runs
    here. swarm.*: for a defence that compares a round's completions, whose scores depend on how many there
    are and who wrote them.
    """
    settings = experiment.defences[experiment.labels().index(label)]
    defence = settings.model_dump(mode="json", exclude={*UNBOUND})
    names = {experiment.policy_of(p) for p in range(experiment.peers.count) if not experiment.is_malicious(p)}
    sections: dict[str, dict[str, Any]] = {
        "defence": defence,
        "policy": {"weights_sha256": sorted({weights_sha256(name) for name in names})},
        "engine": experiment.engine.model_dump(mode="json"),
        "sampling": experiment.sampling.model_dump(mode="json"),
    }
    sections["policy"]["dtype"] = experiment.policy.dtype
    if judge := getattr(getattr(settings, "judge", None), "name_or_path", None):
        sections["judge"] = {"weights_sha256": weights_sha256(judge)}
    built = DEFENCES.resolve(settings.kind)
    if not (getattr(built, "per_completion", False) or getattr(built, "needs_tokens", False)):
        sections["swarm"] = {
            "topology": experiment.topology,
            "peers": experiment.peers.count,
            "prompts_per_round": experiment.prompts_per_round,
            "group_size": experiment.group_size,
        }
    return {f"{name}.{key}": value for name, inner in sections.items() for key, value in inner.items()}


def calibrated(experiment: Run) -> Run:
    """The experiment with the threshold of each `calibration` in its place. A federation has none.

    Raises BadInput where such a file is missing or no calibration, and where it was made in another setting:
    then it names what differs.
    """
    if isinstance(experiment, Federated):
        return experiment
    thresholds: dict[int, float] = {}
    for i, (label, settings) in enumerate(zip(experiment.labels(), experiment.defences, strict=True)):
        file = getattr(settings, "calibration", None)
        if file is None:
            continue
        where = f"defences.{i}.calibration is {file!r}"
        found = read_calibration(Path(file), where)
        here = bound_of(experiment, label)
        there = found["bound"]
        differing = [
            f"{key} = {there.get(key)!r} (here it is {here.get(key)!r})"
            for key in {**there, **here}
            if there.get(key) != here.get(key)
        ]
        if differing:
            raise BadInput(
                f"{where}: it was made for {', '.join(differing)}; allowed is one of this very setting"
            )
        thresholds[i] = found["threshold"]
    if not thresholds:
        return experiment
    tree = experiment.model_dump(mode="json")
    for i, threshold in thresholds.items():
        tree["defences"][i]["threshold"] = threshold
    return parse(tree)


def settled(experiment: Experiment) -> Experiment:
    """The same with no `calibration` named: a run that began holds its thresholds itself, and the files that
    they came from may be gone.
    """
    defences = [
        one.model_copy(update={"calibration": None}) if hasattr(one, "calibration") else one
        for one in experiment.defences
    ]
    return experiment.model_copy(update={"defences": defences})


def read_calibration(file: Path, where: str = "calibration") -> dict[str, Any]:
    """What `turncoat calibrate` wrote. Raises BadInput, which begins with `where`."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{where}: cannot read it: {error}") from error
    if not (isinstance(found, dict) and isinstance(found.get("bound"), dict) and "threshold" in found):
        raise BadInput(f"{where}: that is no calibration; allowed is a file that `turncoat calibrate` wrote")
    return found


@cache
def weights_sha256(name_or_path: str) -> str:
    """SHA-256 over the names and hashes of the files that hold a policy's weights, in order of their names.

    Raises BadInput for a policy of the hub that was not loaded on this machine yet.
    """
    source = find_policy(name_or_path)
    folder = Path(source.location)
    if not folder.is_dir():
        folder = _downloaded(source.location)
    patterns = (source.gguf,) if source.gguf else WEIGHTS
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    if not files:
        raise BadInput(f"policy.name_or_path is {name_or_path!r}: {folder} holds no {' or '.join(patterns)}")
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def _downloaded(repository: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except LocalEntryNotFoundError as error:
        raise BadInput(
            f"policy.name_or_path is {repository!r}, which is not on this machine: its weights' hash is "
            "needed for a calibration; allowed is a policy that was loaded here before"
        ) from error
