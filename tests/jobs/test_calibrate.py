"""`turncoat calibrate`: from the honest scores of a journal to a threshold that a recipe can name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.jobs.check import check
from turncoat.jobs.paths import with_absolute_paths
from turncoat.platform.calibration import calibrated
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse

QUIET = {"attack": "none", "peers": {"malicious": 0}}


def honest(seed: int, n: int = 100) -> list[list[list[tuple[str, dict[str, float]]]]]:
    """One round of n prompts; poisoned completions score high and must not count."""
    values = np.random.default_rng(seed).uniform(0, 0.5, size=n)
    return [[[("honest", {"support": float(value)}), ("poisoned", {"support": 0.9})] for value in values]]


def test_the_way_from_runs_to_a_recipe(
    tmp_path: Path, scored_run: Callable[..., Path], command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs, one file, and the recipe that names it runs with that threshold; elsewhere it is refused."""
    runs = [scored_run(tmp_path / f"run-{seed}", honest(seed), seed=seed, **QUIET) for seed in (0, 1)]
    file = tmp_path / "cal/support.json"
    code, printed, errors = command("calibrate", *runs, "--defence", "support", "--fpr", 0.02, "--out", file)
    assert code == 0, errors
    values = sorted(s["support"] for seed in (0, 1) for (sent, _) in honest(seed)[0] for s in [sent[1]])
    found = json.loads(file.read_text())
    assert found["threshold"] == values[200 - 1 - 3]
    assert found["false_positive_rate"]["measured"] == 3 / 200
    assert found["honest_completions"] == {"scored": 200, "failed": 0, "unasked": 0}
    assert found["made_from"]["attacks"] == ["none"]
    assert printed.splitlines()[-1] == str(file)
    assert "rejects 1.500% of 200" in printed
    assert "made under attack" not in printed

    tree = {
        "task": "arithmetic",
        "attack": "text",
        "policy": {"name_or_path": "tiny-0.3m"},
        "defences": [{"kind": "support", "calibration": "cal/support.json"}],
    }
    monkeypatch.chdir(tmp_path)
    tree = with_absolute_paths(tree)
    assert tree["defences"][0]["calibration"] == str(file)
    monkeypatch.chdir("/")
    check(parse(tree))
    assert calibrated(parse(tree)).model_dump()["defences"][0]["threshold"] == found["threshold"]
    with pytest.raises(BadInput, match=r"sampling\.temperature"):
        check(parse({**tree, "sampling": {"temperature": 0.5}}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--defence", "support", "--fpr", "0.001"],
            "--fpr is 0.001 with 100 honest completions: allowed are at least 999",
        ),
        (["--defence", "suport", "--fpr", "0.1"], "did you mean 'support'?"),
        (["--defence", "support", "--fpr", "0.7"], "fpr"),
    ],
)
def test_wrong_input_is_one_line_and_no_file(
    tmp_path: Path, scored_run: Any, command: Any, arguments: list[str], words: str
) -> None:
    run = scored_run(tmp_path / "run", honest(0), **QUIET)
    code, _, errors = command("calibrate", run, *arguments, "--out", tmp_path / "cal.json")
    assert (code, errors.count("\n")) == (2, 1), errors
    assert words in errors
    assert not (tmp_path / "cal.json").exists()


def test_runs_of_different_settings_make_no_threshold(tmp_path: Path, scored_run: Any, command: Any) -> None:
    """The mixture's quantile would hold for neither."""
    runs = [
        scored_run(tmp_path / f"run-{k}", honest(0), defences=[{"kind": "support", "k": k}], **QUIET)
        for k in (4, 5)
    ]
    code, _, errors = command(
        "calibrate", *runs, "--defence", "support", "--fpr", 0.1, "--out", tmp_path / "x"
    )
    assert code == 2
    assert "defence.k is 5: allowed is 4" in errors


def test_a_run_under_attack_is_told(tmp_path: Path, scored_run: Any, command: Any) -> None:
    """Its honest peers may write the payload by now, and the threshold would let it through."""
    run = scored_run(tmp_path / "run", honest(0))
    _, printed, _ = command("calibrate", run, "--defence", "support", "--fpr", 0.1, "--out", tmp_path / "x")
    assert "made under attack (text)" in printed


def test_a_run_counts_once_however_its_folder_is_spelt(
    tmp_path: Path, scored_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted twice, 100 completions would pass for 200, enough for a rate that they say nothing about."""
    scored_run(tmp_path / "run", honest(0), **QUIET)
    scored_run(tmp_path / "copy", honest(0), **QUIET)
    monkeypatch.chdir(tmp_path)
    asked = ("--defence", "support", "--fpr", 0.005, "--out", "cal.json")
    code, _, errors = command("calibrate", "run", tmp_path / "run", "copy/../run", *asked)
    assert code == 2
    assert "--fpr is 0.005 with 100 honest completions" in errors
    code, _, errors = command("calibrate", "run", "copy", *asked)
    assert code == 2
    assert "run is 'copy', the same experiment as 'run'" in errors


def test_a_folder_is_no_calibration(tmp_path: Path, scored_run: Any, command: Any) -> None:
    run = scored_run(tmp_path / "run", honest(0), **QUIET)
    code, _, errors = command("calibrate", run, "--defence", "support", "--fpr", 0.1, "--out", tmp_path)
    assert (code, errors.count("\n")) == (2, 1), errors
    assert "--out is" in errors
