"""What a finished federation says in the terminal and in Markdown."""

import json
from pathlib import Path

import pytest

from turncoat.jobs.results import print_results, run_table, save_study, study_table


@pytest.fixture
def study(tmp_path: Path, federated_run) -> Path:
    rows = []
    for arm, change in (("natural", "compression=natural"), ("local", "kind=local_only")):
        run = f"arms/{arm}/seed-0"
        made = federated_run(tmp_path / run, change)
        summary = json.loads((made / "summary.json").read_text())
        rows.append({"arm": arm, "seed": 0, "run": run, "summary": summary})
    content = {"name": "fed", "arms": ["natural", "local"], "seeds": [0], "rows": rows}
    (tmp_path / "study.json").write_text(json.dumps(content))
    return tmp_path


def test_a_run_tells_its_three_figures(tmp_path: Path, federated_run):
    """What stands there is quoted: a ratio without its name would be quoted as the other one."""
    folder = federated_run(tmp_path / "run", "clients.malicious=1", "attack=text")
    header, rows = run_table(json.loads((folder / "summary.json").read_text()))
    assert header == ["fed, seed 0", "100 held-out completions"]
    told = dict(rows)
    assert (told["count ×"], told["wire ×"], told["bound MB"]) == ("4.44", "3.56", "0.001")
    assert told["attack success"] == "0.300 [0.219–0.396]"
    assert told["malicious weight"] == "0.750"
    assert "stop rate" not in told


def test_a_reference_tells_no_traffic(tmp_path: Path, federated_run):
    folder = federated_run(tmp_path / "run", "kind=centralised")
    _, rows = run_table(json.loads((folder / "summary.json").read_text()))
    assert [name for name, _ in rows] == ["accuracy before", "accuracy after"]


def test_a_study_has_a_column_for_what_any_arm_has(study: Path):
    header, rows = study_table(study)
    traffic = ["uplink MB", "downlink MB", "count ×", "wire ×", "σ ~ density"]
    assert header == ["arm (seeds)", "accuracy before", "accuracy after", *traffic]
    assert rows[0][1:] == [
        "0.250 [0.175–0.343]", "0.500 [0.404–0.596]", "0.002", "0.013", "4.44", "3.56", "1.00",
    ]  # fmt: skip
    assert rows[1][3:] == ["–"] * 5


def test_a_study_is_saved_with_its_figure_of_bytes(study: Path, tmp_path: Path):
    names = [path.name for path in save_study(study, tmp_path / "out")]
    assert names == ["table.md", "accuracy-held-out.svg", "accuracy-against-uplink-held-out.svg"]


def test_the_terminal_shows_it(study: Path, capsys):
    print_results(study)
    assert "3.56" in capsys.readouterr().out
