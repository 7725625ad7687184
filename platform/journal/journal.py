"""A run's folder: everything that a run leaves behind, and all that it needs to go on after a kill.

experiment.yaml      the resolved config
environment.json     what it ran on
metrics.jsonl        a line per round and peer
completions/         a part per round, merged into completions.parquet at the end
checkpoints/         what a resumed run starts from
summary.json         the figures of a finished run
report.html          for people
"""

import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from turncoat.platform.config.errors import BadInput
from turncoat.platform.journal import atomic, checkpoint, completions, metrics

EXPERIMENT = "experiment.yaml"
ENVIRONMENT = "environment.json"
METRICS = "metrics.jsonl"
SUMMARY = "summary.json"
REPORT = "report.html"
CHECKPOINTS = "checkpoints"
STUDY = "study.json"
"""In the folder above the runs of a study: see report/study.py."""


class Journal:
    """Reads and writes one run's folder. One writer at a time; readers may look on at any moment."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.checkpoints = folder / CHECKPOINTS

    @classmethod
    def create(cls, folder: Path, experiment: str, environment: Mapping[str, Any]) -> "Journal":
        """Start a run's folder from the resolved config as YAML.

        Raises BadInput unless it is new or empty.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"{folder} exists and is not empty: name a new folder, or resume the run in it")
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(folder / ENVIRONMENT, _dump(environment))
        atomic.write_text(folder / METRICS, "")
        atomic.write_text(folder / EXPERIMENT, experiment)  # last: a folder without it is no run
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Journal":
        """The journal of a run that exists. Raises BadInput when `folder` holds none."""
        if not (folder / EXPERIMENT).is_file():
            raise BadInput(f"{folder} is no run: it has no {EXPERIMENT}")
        return cls(folder)

    def experiment(self) -> dict[str, Any]:
        """The resolved config, as plain data."""
        return _load_yaml((self.folder / EXPERIMENT).read_text())

    def environment(self) -> dict[str, Any]:
        return json.loads((self.folder / ENVIRONMENT).read_text())

    def summary(self) -> dict[str, Any] | None:
        """The figures of a finished run; None while it is unfinished."""
        path = self.folder / SUMMARY
        return json.loads(path.read_text()) if path.exists() else None

    def metrics(self) -> metrics.Metrics:
        return metrics.read(self.folder / METRICS)

    def record_round(
        self, round: int, lines: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]
    ) -> None:
        """Keep one round: a metrics line per peer, and its completions (`completions.row`).

        The completions are written first, so a round that has metrics has its completions too.
        """
        completions.write_part(self.folder, round, rows)
        self._append("round", round, lines)

    def record_figures(self, round: int, lines: Iterable[Mapping[str, Any]]) -> None:
        """Keep one round's metrics lines, where the completions lie in journals of their owners."""
        self._append("round", round, lines)

    def record_evaluation(self, round: int, lines: Iterable[Mapping[str, Any]]) -> None:
        """Keep one evaluation, after `round` rounds: a metrics line per evaluated peer."""
        self._append("evaluation", round, lines)

    def _append(self, kind: str, round: int, lines: Iterable[Mapping[str, Any]]) -> None:
        stamped = [{**line, "kind": kind, "round": round} for line in lines]
        metrics.append(self.folder / METRICS, sorted(stamped, key=lambda line: line["peer"]))

    def pending_checkpoint(self, round: int) -> Path:
        """An empty folder for the peers to fill, one sub-folder each, before `commit_checkpoint`."""
        return checkpoint.pending(self.checkpoints, round)

    def commit_checkpoint(self, round: int, weights: Mapping[str, str], keep: int, **state: Any) -> Path:
        """Seal the pending checkpoint, and keep the newest `keep`.

        weights: SHA-256 of the weights by peer, e.g. {"peer-00": …}. `state` is anything more, as JSON.
        """
        content = {
            "experiment": self.experiment(),
            "weights_sha256": dict(weights),
            **state,
        }
        folder = checkpoint.commit(self.checkpoints, round, content)
        checkpoint.prune(self.checkpoints, keep)
        return folder

    def latest_checkpoint(self) -> checkpoint.Checkpoint | None:
        """The newest checkpoint that verifies, of this very config.

        Raises BadInput, and says which keys differ, when experiment.yaml was edited since it was written.
        """
        found = checkpoint.latest(self.checkpoints)
        if found and (edits := _differences(self.experiment(), found.state["experiment"])):
            raise BadInput(f"{self.folder / EXPERIMENT} was edited after {found.folder.name}: {edits}")
        return found

    def rewind(self, round: int) -> None:
        """Forget all after `round`, and what killed writers left, so that the run can go on from there.

        Record all of a round, its evaluation too, before its checkpoint is committed: what is kept is not
        run again. -1 forgets the evaluation before the first round too.
        """
        for folder in (self.folder, self.folder / completions.PARTS, self.checkpoints):
            atomic.sweep(folder)
        for name in (SUMMARY, REPORT):
            (self.folder / name).unlink(missing_ok=True)
        metrics.truncate_after(self.folder / METRICS, round)
        completions.drop_after(self.folder, round)
        checkpoint.drop_after(self.checkpoints, round)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only process that works on this run; the operating system ends that with the process.

        Raises BadInput while another one does.
        """
        with (self.folder / EXPERIMENT).open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInput(
                    f"run is {str(self.folder)!r}: another process is working on it, allowed is one at a time"
                ) from error
            yield

    def merge_completions(self) -> Path:
        """Join the parts of all rounds to `completions.parquet`, at the end of the run."""
        return completions.merge(self.folder)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write `summary.json`, which says that the run is finished. Raises ValueError for NaN."""
        atomic.write_text(self.folder / SUMMARY, _dump(summary))

    def same_experiment(self, experiment: str) -> None:
        """Raises BadInput unless the YAML text `experiment` is this run's config, apart from its hardware.

        It says which keys differ.
        """
        if differing := _differences(_load_yaml(experiment), self.experiment()):
            raise BadInput(f"{self.folder} is a run of another experiment: {differing}")


def _differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> str:
    """The keys of two configs that differ, with their values; empty if none does.

    Where, and on how many processes, a run is computed is no part of what it computes: `hardware` may
    differ, so that a run can go on on another cluster.
    """
    here, there = flat(now), flat(then)
    missing = "not there"
    return "; ".join(
        f"{key} is {here.get(key, missing)!r}, allowed is the run's {there.get(key, missing)!r}"
        for key in sorted(here.keys() | there.keys())
        if here.get(key, missing) != there.get(key, missing) and not key.startswith("hardware.")
    )


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of a config by dotted key, e.g. {"peers.count": 4, "defences.0.kind": "support"}."""
    if isinstance(value, dict) and value:
        items: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, list) and value:
        items = enumerate(value)
    else:
        return {prefix: value}
    return {
        key: leaf
        for name, inner in items
        for key, leaf in flat(inner, f"{prefix}.{name}" if prefix else str(name)).items()
    }


def _load_yaml(text: str) -> Any:
    # libyaml where it is there, several times as fast: a resumed study reads the configs of all its runs.
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
