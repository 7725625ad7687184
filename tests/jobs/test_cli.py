"""What scripts rely on: exit codes, one-line errors on stderr, and a quick answer."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from turncoat.jobs import cli
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import load

RECIPE = "task: arithmetic\npeers: {malicious: 0}\n"


class Outcome(tuple[int, str, str]):
    code = property(lambda self: self[0])
    out = property(lambda self: self[1])
    err = property(lambda self: self[2])


@pytest.fixture
def turncoat(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the command in this process."""

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["turncoat", *arguments])
        return Outcome((cli.main(), *capfd.readouterr()))

    return call


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    return str(path)


@pytest.fixture
def launching(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Put a function in the place of the one that starts Ray and runs."""

    def put(run: Any) -> None:
        launch = ModuleType("turncoat.jobs.launch")
        launch.__dict__.update(run=run, resume=run)
        monkeypatch.setitem(sys.modules, "turncoat.jobs.launch", launch)

    return put


def test_help_is_quick() -> None:
    """Half a second at most: nobody explores a command line that takes five."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "turncoat.jobs.cli", "--help"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        (["show", "RECIPE", "peers.cuont=5"], "did you mean 'count'?"),
        (["show", "no-such-recipe"], "unknown recipe 'no-such-recipe'"),
        (["show", "RECIPE", "rounds"], "key=value"),
        (["run", "RECIPE", "attack.kind=txt"], "attack.kind"),
        (["plan", "RECIPE", "peers.count=1"], "peers.count: 1"),
        (["plan", "RECIPE", "hardware.gpus_per_peer=99"], "short"),
        (["report", "no-such-folder"], "no-such-folder is no run"),
        (["eval", "no-such-policy"], "no-such-policy"),
        (["eval", "tiny-1m", "--task", "gsm"], "task.kind: unknown kind 'gsm'; did you mean 'gsm8k'?"),
        (["export", "no-such-folder", "somewhere"], "no-such-folder"),
        (["list", "atacks"], "did you mean 'attacks'?"),
        (["shwo", "RECIPE"], "shwo"),
        (["show"], "Missing argument"),
        (["run", "RECIPE", "--uot", "x"], "--uot"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_two(
    turncoat: Callable[..., Outcome], recipe: str, arguments: list[str], holds: str
) -> None:
    """A script tells a wrong call (2) from a failed run (1), and a log holds a line to search for."""
    outcome = turncoat(*(recipe if argument == "RECIPE" else argument for argument in arguments))
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert holds in outcome.err


def test_long_errors_are_not_wrapped(turncoat: Callable[..., Outcome], recipe: str) -> None:
    """A terminal may fold a line; a log must not."""
    outcome = turncoat("show", recipe, f"policy.lora.{'x' * 300}=1")
    assert outcome.err.count("\n") == 1


def test_show_prints_a_recipe_that_loads(
    turncoat: Callable[..., Outcome], recipe: str, tmp_path: Path
) -> None:
    """`turncoat show X > mine.yaml` is how a recipe of one's own begins."""
    outcome = turncoat("show", recipe, "rounds=3")
    (tmp_path / "mine.yaml").write_text(outcome.out)
    assert outcome.code == 0
    assert load(str(tmp_path / "mine.yaml")) == load(recipe, ["rounds=3"])


def test_version(turncoat: Callable[..., Outcome]) -> None:
    """Bug reports begin with it."""
    outcome = turncoat("--version")
    assert (outcome.code, outcome.out.split()[0]) == (0, "turncoat")


def test_list_has_every_family(turncoat: Callable[..., Outcome]) -> None:
    """What can be named in a config can be found without reading source."""
    outcome = turncoat("list")
    assert outcome.code == 0
    for word in ("arithmetic", "text", "support", "transformers", "torch", "recipes", "policies"):
        assert word in outcome.out
    assert "not installed" not in outcome.out
    assert "support" not in turncoat("list", "attacks").out


def test_plan_shows_what_is_needed(turncoat: Callable[..., Outcome], recipe: str) -> None:
    """Before a cluster is asked for anything, one knows how much it will be."""
    outcome = turncoat("plan", recipe, "peers.count=3", "hardware.cpus_per_peer=1.5", "group_size=6")
    assert outcome.code == 0
    assert "1.5 CPU" in outcome.out


def test_run_ends_with_its_folder(
    turncoat: Callable[..., Outcome], launching: Callable[[Any], None], recipe: str, tmp_path: Path
) -> None:
    """`folder=$(turncoat run X | tail -1)` is how scripts go on; the journal keeps the command as typed."""
    seen = []

    def run(experiment: Any, out: Path | None, command: str) -> Path:
        seen.append((experiment.rounds, out, command))
        print("round 1 of 3")
        return tmp_path / "a run"

    launching(run)
    outcome = turncoat("run", recipe, "rounds=3", "--out", str(tmp_path / "x"))
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == str(tmp_path / "a run")
    assert seen == [(3, tmp_path / "x", f"turncoat run {recipe} rounds=3 --out {tmp_path / 'x'}")]


def test_failure_is_one_line_and_one(
    turncoat: Callable[..., Outcome], launching: Callable[[Any], None], recipe: str
) -> None:
    """The reason is on the line, the traceback in a file that the line names."""

    def run(*_: Any) -> Path:
        raise RuntimeError("peer-03 did not answer\nstack of the peer")

    launching(run)
    outcome = turncoat("run", recipe)
    assert outcome.code == 1
    assert outcome.err.startswith("error: RuntimeError: peer-03 did not answer (traceback: ")
    assert outcome.err.count("\n") == 1
    kept = Path(outcome.err.partition("traceback: ")[2].partition(",")[0])
    assert "in run" in kept.read_text()
    kept.unlink()
    assert "Traceback" in turncoat("run", recipe, "--debug").err


def test_remote_errors_are_unwrapped(
    turncoat: Callable[..., Outcome], launching: Callable[[Any], None], recipe: str
) -> None:
    """Bad input found inside an actor is still bad input; Ray's remote traceback is not the message."""

    class Remote(Exception):
        cause = BadInput("task.path: there is no 'x.jsonl'")

    def run(*_: Any) -> Path:
        raise Remote("ray::Peer.start()\n  File ...")

    launching(run)
    outcome = turncoat("run", recipe)
    assert (outcome.code, outcome.err) == (2, "error: task.path: there is no 'x.jsonl'\n")


def test_interrupt_says_how_to_go_on(
    turncoat: Callable[..., Outcome], launching: Callable[[Any], None], recipe: str
) -> None:
    """Ctrl-C loses nothing, if one knows the next command."""

    def run(*_: Any) -> Path:
        raise KeyboardInterrupt(Path("runs/a b"))

    launching(run)
    outcome = turncoat("run", recipe)
    assert (outcome.code, outcome.err) == (130, "stopped; go on with: turncoat resume 'runs/a b'\n")


def test_a_reader_who_has_seen_enough_is_no_failure() -> None:
    """`turncoat show RECIPE | head -1` ends in silence, and not in Python's complaint about a broken pipe."""
    command = [sys.executable, "-m", "turncoat.jobs.cli", "show", "text"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == ("", 1)
