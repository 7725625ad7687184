"""What is wrong with a run is said before it starts: exit code 2, one line, and no folder left behind."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from turncoat.jobs import cli, decentralised
from turncoat.jobs.launch import kept_in
from turncoat.jobs.progress import Board
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.journal.journal import EXPERIMENT, Journal

Turncoat = Callable[..., tuple[int, str]]


@pytest.fixture
def turncoat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Turncoat:
    """Run a command that must not get as far as Ray; (exit code, stderr)."""

    def call(*arguments: str) -> tuple[int, str]:
        def never(*_: Any, **__: Any) -> None:
            raise AssertionError("Ray was started")

        monkeypatch.setattr("turncoat.jobs.check.connected", never)
        monkeypatch.setattr(sys, "argv", ["turncoat", *arguments])
        code = cli.main()
        return code, capsys.readouterr().err

    return call


@pytest.fixture
def recipe(tiny: Callable[..., Any], tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(to_yaml(tiny()))
    return str(path)


def refused(outcome: tuple[int, str], *words: str) -> None:
    code, errors = outcome
    assert (code, errors.count("\n")) == (2, 1), errors
    for word in words:
        assert word in errors


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["hardware.gpus_per_peer=8"], ["hardware.gpus_per_peer", "8 GPU needed", "allowed"]),
        (
            ["policy.name_or_path=tiny-0.3n"],
            ["policy.name_or_path", "'tiny-0.3n'", "did you mean 'tiny-0.3m'?"],
        ),
        (["peers.policies=[tiny-0.3m,./none]"], ["peers.policies", "no folder './none'", "expected"]),
        (["task.kind=gsm8k", "task.path=none.jsonl"], ["task.path", "none.jsonl"]),
        (["hardware.split=true", "hardware.gpus_per_peer=3"], ["hardware.gpus_per_peer is 3", "allowed"]),
    ],
    ids=lambda value: value[-1].partition("=")[0] if "=" in value[-1] else "",
)
def test_a_run_that_cannot_be_is_refused_at_once(
    turncoat: Turncoat, recipe: str, tmp_path: Path, change: list[str], words: list[str]
) -> None:
    """With the mistake mended, the same command works: its folder is still free."""
    if change[0].startswith("task"):
        Path(recipe).write_text(
            Path(recipe).read_text().replace("levels", "# levels").replace("  - ", "  # - ")
        )
    refused(turncoat("run", recipe, *change, "--out", str(tmp_path / "run")), *words)
    assert not (tmp_path / "run").exists()


def test_a_folder_with_something_in_it_is_not_written_to(
    turncoat: Turncoat, recipe: str, tmp_path: Path
) -> None:
    """Nobody's results are lost."""
    refused(
        turncoat("run", recipe, "--out", str(tmp_path)), "--out", str(tmp_path), "allowed is a new folder"
    )


@pytest.mark.parametrize("out", [[], ["--out", "runs/x"]])
def test_a_job_needs_an_absolute_folder(
    turncoat: Turncoat, recipe: str, monkeypatch: pytest.MonkeyPatch, out: list[str]
) -> None:
    """Inside a job, a relative folder lies where Ray unpacked the code, and is deleted with it."""
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    refused(turncoat("run", recipe, *out), "--out", "allowed is an absolute path")


def test_a_job_runs_in_its_own_cluster(
    turncoat: Turncoat, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe's "local" would start a second Ray on the head node, and use nothing of the cluster."""
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    refused(
        turncoat("run", recipe, "--out", str(tmp_path / "x")),
        "hardware.address is 'local'",
        "allowed is 'auto'",
    )


def test_resume_needs_a_run(turncoat: Turncoat, tmp_path: Path) -> None:
    """A mistyped folder is not a failed run."""
    refused(
        turncoat("resume", str(tmp_path)),
        str(tmp_path),
        "no experiment.yaml",
        "allowed is the folder of a run",
    )


@pytest.fixture
def begun(tiny: Callable[..., Any], tmp_path: Path) -> Journal:
    """A run with a checkpoint."""
    journal = Journal.create(tmp_path / "run", to_yaml(tiny()), {})
    (journal.pending_checkpoint(1) / "peer-00").mkdir()
    journal.commit_checkpoint(1, {"peer-00": "ab"}, keep=1)
    return journal


def edit(journal: Journal, old: str, new: str) -> None:
    path = journal.folder / EXPERIMENT
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_an_edited_run_is_not_resumed(turncoat: Turncoat, begun: Journal) -> None:
    """Half of one experiment and half of another is no result."""
    edit(begun, "group_size: 4", "group_size: 8")
    outcome = turncoat("resume", str(begun.folder))
    refused(outcome, "experiment.yaml was edited", "group_size is 8, allowed is the run's 4")
    edit(begun, "group_size: 8", "group_size: x")
    refused(turncoat("resume", str(begun.folder)), "group_size", "'x'", "experiment.yaml line")


def test_a_run_may_go_on_elsewhere(turncoat: Turncoat, begun: Journal) -> None:
    """A cluster that is gone, or a deadline that was too short, is no reason to begin again."""
    edit(begun, "address: local", "address: auto")
    code, errors = turncoat("resume", str(begun.folder))
    assert code == 1
    assert "Ray was started" in errors


def test_a_run_goes_on_without_the_file_of_its_threshold(
    turncoat: Turncoat, tiny: Callable[..., Any], tmp_path: Path
) -> None:
    """The threshold stands in the run; tidying up calibrations must not make half a run of it."""
    tree = tiny().model_dump(mode="json")
    tree["defences"] = [{"kind": "support", "threshold": 0.1, "calibration": str(tmp_path / "gone.json")}]
    journal = Journal.create(tmp_path / "run", to_yaml(parse(tree)), {})
    code, errors = turncoat("resume", str(journal.folder))
    assert code == 1
    assert "Ray was started" in errors


@pytest.mark.parametrize("kind", ["federated", "local_only"])
def test_a_federation_goes_on(turncoat: Turncoat, tmp_path: Path, kind: str) -> None:
    """It has no defences, and so no thresholds that a resume could leave alone."""
    experiment = parse({"kind": kind, "task": "arithmetic", "policy": {"name_or_path": "tiny-0.3m"}})
    journal = Journal.create(tmp_path / "run", to_yaml(experiment), {})
    code, errors = turncoat("resume", str(journal.folder))
    assert code == 1
    assert "Ray was started" in errors


def test_a_failure_says_what_to_type_next_whatever_the_folder_is_called() -> None:
    """A line that is copied from the terminal must work with a space in it."""
    with pytest.raises(RuntimeError) as failure, kept_in(Path("runs/a b")):
        raise RuntimeError
    assert failure.value.__notes__ == ["go on with: turncoat resume 'runs/a b'"]


def test_nobody_else_works_on_a_run_that_is_being_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resume at that moment would delete what is being merged."""
    experiment = parse({"task": "arithmetic", "peers": {"malicious": 0}})
    journal = Journal.create(tmp_path / "run", to_yaml(experiment), {})
    refused = []

    def summarise(*_: Any) -> dict[str, Any]:
        with pytest.raises(BadInput) as error, Journal(journal.folder).writing():
            pass
        refused.append(str(error.value))
        return {}

    monkeypatch.setattr(decentralised, "Swarm", lambda *_: nullcontext())
    monkeypatch.setattr(decentralised, "go_on", lambda *_: None)
    monkeypatch.setattr(decentralised, "summarise", summarise)
    decentralised.drive(experiment, journal, Board(), Event())
    assert "another process is working on it" in refused[0]


def test_a_folder_that_cannot_be_made_is_refused_at_once(turncoat: Turncoat, tmp_path: Path) -> None:
    """Not after a minute of starting Ray, and not with a traceback."""
    (tmp_path / "file").write_text("")
    code, error = turncoat("run", "text", "--out", str(tmp_path / "file" / "run"))
    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith("error: --out is ")
