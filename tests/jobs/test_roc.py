"""`turncoat roc`: if these fail, a defence's curve on the screen is not that of its scores in the journal."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Rounds = list[list[list[tuple[str, dict[str, float]]]]]


def rounds(seed: int, n: int = 4, prompts: int = 6) -> Rounds:
    """Nine honest completions and three poisoned ones of each prompt, with two defences' scores."""
    draw = np.random.default_rng(seed)
    return [
        [
            [
                (
                    truth,
                    {"support": float(draw.normal(shift)), "judge": float(draw.random() < 0.1 + shift / 2)},
                )
                for truth, shift in [("honest", 0)] * 9 + [("poisoned", 1)] * 3
            ]
            for _ in range(prompts)
        ]
        for _ in range(n)
    ]


DEFENCES = [{"kind": "support", "threshold": 0.5}, {"kind": "support", "name": "judge"}]


@pytest.fixture
def runs(tmp_path: Path, scored_run: Callable[..., Path]) -> list[Path]:
    """Two seeds of one experiment, and a run of another."""
    made = [
        scored_run(tmp_path / f"seed-{seed}", rounds(seed), seed=seed, defences=DEFENCES) for seed in (0, 1)
    ]
    other = scored_run(tmp_path / "slack", rounds(2), defences=[{**DEFENCES[0], "slack": 2}, DEFENCES[1]])
    return [*made, other]


def test_curves_per_run_and_pooled(runs: list[Path], command: Any, as_json: Any) -> None:
    """Seeds of one experiment are pooled, another experiment is not; the area is that of all pairs."""
    curves = as_json(command("roc", *runs, "--json"))["curves"]
    assert [(len(one["runs"]), one["defence"], one["seeds"]) for one in curves] == [
        (1, "judge", [0]),
        (1, "judge", [1]),
        (2, "judge", [0, 1]),
        (1, "support", [0]),
        (1, "support", [1]),
        (2, "support", [0, 1]),
        (1, "judge", [0]),
        (1, "support", [0]),
    ]
    sent = [one for seed in (0, 1) for prompts in rounds(seed) for prompt in prompts for one in prompt]
    for name, found in (("judge", curves[2]), ("support", curves[5])):
        sides = [np.array([s[name] for truth, s in sent if truth == side]) for side in ("poisoned", "honest")]
        above, tied = (np.mean(test(sides[0][:, None], sides[1])) for test in (np.greater, np.equal))
        assert found["auc"]["value"] == pytest.approx(above + tied / 2)
        low, high = found["auc"]["interval"]
        assert low < found["auc"]["value"] < high
        assert found["completions"]["honest"] == {"scored": 432, "failed": 0, "unasked": 0}
        assert found["prompt_groups"] == 48
    support = curves[5]["own"]
    assert support["threshold"] == 0.5
    honest = [s["support"] for truth, s in sent if truth == "honest"]
    assert support["false_positive_rate"]["value"] == pytest.approx(np.mean(np.array(honest) > 0.5))


def test_an_unfinished_run_has_curves_too(
    tmp_path: Path, scored_run: Any, command: Any, as_json: Any
) -> None:
    """One need not wait for hours to see that a defence is blind."""
    one, other = (
        scored_run(tmp_path / name, rounds(0), finished, defences=DEFENCES)
        for name, finished in (("done", True), ("going", False))
    )
    found = [as_json(command("roc", folder, "--json"))["curves"][0]["auc"] for folder in (one, other)]
    assert found[0] == found[1]


def test_a_study_is_all_its_runs(tmp_path: Path, scored_run: Any, command: Any, as_json: Any) -> None:
    """Arms without a defence have no scores and are passed over."""
    for seed in (0, 1):
        scored_run(tmp_path / f"s/arms/check/seed-{seed}", rounds(seed), seed=seed, defences=DEFENCES)
    scored_run(tmp_path / "s/arms/bare/seed-0", [[[("honest", {})]]], defences=[])
    curves = as_json(command("roc", tmp_path / "s", "--json"))["curves"]
    assert [len(one["runs"]) for one in curves] == [1, 1, 2] * 2


def test_what_is_written(runs: list[Path], tmp_path: Path, command: Any) -> None:
    """Figure, table and JSON, and a table in the terminal with every defence and threshold of the sweep."""
    out = tmp_path / "out"
    code, printed, errors = command("roc", *runs, "--out", out, "--thresholds", "0,0.75")
    assert code == 0, errors
    assert sorted(path.name for path in out.iterdir()) == ["roc-text.svg", "roc.json", "roc.md"]
    page = (out / "roc.md").read_text()
    for words in ("text / support", "text / judge", "(2 runs)", "0.75", "slack"):
        assert words in page
        assert words in printed
    swept = json.loads((out / "roc.json").read_text())["curves"][5]["sweep"]
    assert [line["threshold"] for line in swept] == [0, 0.75]
    assert swept[0]["stop_rate"] > swept[1]["stop_rate"] > swept[1]["false_positive_rate"]
    first = (out / "roc-text.svg").read_bytes()
    assert b"<svg" in first
    command("roc", *runs, "--out", out)
    assert (out / "roc-text.svg").read_bytes() == first


def test_a_sweep_of_n_thresholds(runs: list[Path], command: Any, as_json: Any) -> None:
    """Honest scores, from half of the honest completions lost to next to none."""
    judge, support = as_json(command("roc", runs[0], "--json", "--sweep", "20"))["curves"]
    rates = [line["false_positive_rate"] for line in support["sweep"]]
    assert rates == sorted(rates, reverse=True)
    assert 10 < len(rates) <= 20, "216 honest scores have no quantile of their own for every rate"
    assert (rates[0], rates[-1]) == (0.5, 0)
    assert [line["threshold"] for line in judge["sweep"]] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--truth", "poison"], "--truth is 'poison'; did you mean 'poisoned'?"),
        (["--peer", "3"], "peer is 3"),
        (["--thresholds", "0,x"], "--thresholds is '0,x': allowed are numbers"),
        (["--thresholds", "inf"], "--thresholds is 'inf'"),
    ],
)
def test_wrong_input_is_one_line(runs: list[Path], command: Any, arguments: list[str], words: str) -> None:
    code, _, errors = command("roc", *runs, *arguments)
    assert (code, errors.count("\n")) == (2, 1), errors
    assert words in errors


def test_folders_without_scores_are_refused(tmp_path: Path, scored_run: Any, command: Any) -> None:
    run = scored_run(tmp_path / "bare", [[[("honest", {}), ("poisoned", {})]]], defences=[])
    code, _, errors = command("roc", run)
    assert code == 2
    assert "no completion has a score" in errors
    code, _, errors = command("roc", tmp_path)
    assert code == 2
    assert "holds no experiment.yaml" in errors


def test_other_truths_can_be_the_positive_class(
    tmp_path: Path, scored_run: Any, command: Any, as_json: Any
) -> None:
    """How well look-alikes are told from honest text is a question of its own; filler does not mix in."""
    sent = [("honest", {"support": 0.0})] * 3 + [
        ("lookalike", {"support": 1.0}),
        ("filler", {"support": 0.0}),
    ]
    run = scored_run(tmp_path / "run", [[sent]])
    alike, filler, poison = (
        as_json(command("roc", run, "--json", "--truth", truth))["curves"][0]["auc"]["value"]
        for truth in ("lookalike", "filler", "poisoned")
    )
    assert (alike, filler, poison) == (1, 0.5, None)


@pytest.mark.slow
def test_a_run_of_60_rounds_takes_no_time(tmp_path: Path, scored_run: Any, command: Any) -> None:
    """34,560 completions and two defences; a curve that one waits for is not looked at."""
    run = scored_run(tmp_path / "run", rounds(0, 60, 48), defences=DEFENCES)
    start = time.process_time()
    assert command("roc", run, "--json")[0] == 0
    assert time.process_time() - start < 2


def test_the_same_completions_are_pooled_once(
    tmp_path: Path, scored_run: Callable[..., Path], command: Any, as_json: Any
) -> None:
    """A run that is named twice, or repeated with its seed, would narrow the intervals for nothing."""
    run, again = (scored_run(tmp_path / name, rounds(0), defences=DEFENCES) for name in ("run", "again"))
    other = scored_run(tmp_path / "other", rounds(1), seed=1, defences=DEFENCES)
    asked = ("--json", "--replicates", 2)
    curves = as_json(command("roc", run, run / "../run", *asked))["curves"]
    assert [one["seeds"] for one in curves] == [[0], [0]]
    curves = as_json(command("roc", run, again, other, *asked))["curves"]
    assert [one["seeds"] for one in curves] == [[0], [0], [1], [0, 1]] * 2


def test_names_in_brackets_are_names(tmp_path: Path, scored_run: Callable[..., Path], command: Any) -> None:
    """Read as markup, a run's name would vanish from the table, or end the command."""
    run = scored_run(tmp_path / "[red]run", rounds(0), defences=DEFENCES)
    code, printed, errors = command("roc", run, "--replicates", 2)
    assert code == 0, errors
    assert "[red]run" in printed


def test_a_file_is_no_folder_for_figures(
    tmp_path: Path, scored_run: Callable[..., Path], command: Any
) -> None:
    run = scored_run(tmp_path / "run", rounds(0), defences=DEFENCES)
    (tmp_path / "file").touch()
    code, _, errors = command("roc", run, "--replicates", 2, "--out", tmp_path / "file")
    assert (code, errors.count("\n")) == (2, 1), errors
