"""`turncoat compare`: runs and arms side by side, with what differs between them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turncoat.platform.journal.journal import Journal


@pytest.fixture
def finished_run(scored_run: Callable[..., Path], summary: Callable[..., Any]) -> Callable[..., Path]:
    def make(folder: Path, accuracy: float, seed: int = 0, **config: Any) -> Path:
        run = scored_run(folder, [[[("honest", {"support": 0.0})]]], seed=seed, **config)
        evaluation = {"peer": "peer-00", "n": 100, "success_n": 100, "length_interval": [19.0, 21.0]}
        Journal(run).record_evaluation(1, [evaluation])
        Journal(run).write_summary(summary(accuracy, seed=seed))
        return run

    return make


def test_two_runs(tmp_path: Path, finished_run: Any, command: Any, as_json: Any) -> None:
    """Figures, the difference with its interval, and the setting that made it."""
    runs = [
        finished_run(tmp_path / "slow", 0.4),
        finished_run(tmp_path / "fast", 0.6, optimiser={"lr": 1e-3}),
    ]
    first, second = as_json(command("compare", *runs, "--json"))
    assert (first["name"], first["attack"], first["defences"]) == ("slow", "text", ["support"])
    assert first["figures"]["accuracy"]["value"] == 0.4
    delta = second["difference"]["accuracy"]
    assert delta["value"] == pytest.approx(0.2)
    assert delta["method"] == "Newcombe"
    assert 0 < delta["interval"][0] < 0.2 < delta["interval"][1]
    assert second["config"] == {"optimiser.lr": [0.0003, 0.001]}
    _, printed, _ = command("compare", *runs)
    for words in ("slow", "fast", "+0.200", "Newcombe", "optimiser.lr", "0.001"):
        assert words in printed


def test_the_arms_of_a_study(tmp_path: Path, finished_run: Any, command: Any, as_json: Any) -> None:
    """Over their finished seeds, paired where both have the same."""
    for seed in (0, 1):
        finished_run(tmp_path / f"s/arms/a/seed-{seed}", 0.4 + seed / 10, seed)
        finished_run(tmp_path / f"s/arms/b/seed-{seed}", 0.6 + seed / 10, seed, group_size=8)
    unfinished = tmp_path / "s/arms/b/seed-2"
    finished_run(unfinished, 0.1, 2, group_size=8)
    (unfinished / "summary.json").unlink()
    first, second = as_json(command("compare", tmp_path / "s", "--json"))
    assert (first["name"], second["name"], second["seeds"]) == ("a", "b", [0, 1])
    assert second["difference"]["accuracy"]["method"] == "t, paired by seed"
    assert second["difference"]["accuracy"]["value"] == pytest.approx(0.2)
    assert second["config"] == {"group_size": [12, 8]}


def test_runs_of_one_name_are_told_apart(
    tmp_path: Path, finished_run: Any, command: Any, as_json: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 0 of two arms: in a table of two rows "seed-0" nobody sees which is which."""
    monkeypatch.chdir(tmp_path)
    for arm in "ab":
        finished_run(tmp_path / f"s/arms/{arm}/seed-0", 0.4)
    first, second = as_json(command("compare", "s/arms/a/seed-0", "s/arms/b/seed-0", "--json"))
    assert (first["name"], second["name"]) == ("s/arms/a/seed-0", "s/arms/b/seed-0")


def test_what_cannot_be_compared_is_refused(tmp_path: Path, finished_run: Any, command: Any) -> None:
    run = finished_run(tmp_path / "run", 0.4)
    code, _, errors = command("compare", run)
    assert code == 2
    assert "two finished runs or more" in errors
    (run / "summary.json").unlink()
    code, _, errors = command("compare", run, run)
    assert code == 2
    assert "not finished" in errors
