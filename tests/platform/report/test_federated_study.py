"""A study of federations: what there is to compare, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from turncoat.platform.report import render_study
from turncoat.platform.report.measures import COLUMNS, columns_of
from turncoat.platform.report.study import accuracy_by_uplink, pictures

ARMS = {
    "dense": ("compression=dense", 0.5),
    "local": ("kind=local_only", 0.4),
    "half": ("budget.share=0.5", 0.6),
}


@pytest.fixture
def make_study(federated_run):
    def make(folder: Path, *overrides: str, arms=ARMS, grid=None) -> Path:
        rows = []
        for arm, (change, accuracy) in arms.items():
            for seed in (0, 1):
                run = f"arms/{arm}/seed-{seed}"
                made = federated_run(
                    folder / run, f"seed={seed}", change, *overrides, accuracy=accuracy + 0.02 * seed
                )
                summary = json.loads((made / "summary.json").read_text())
                rows.append({"arm": arm, "seed": seed, "run": run, "summary": summary})
        study = {"name": "fed", "arms": list(arms), "seeds": [0, 1], "rows": rows}
        study |= {"grid": grid or {}, "skipped": {}}
        (folder / "study.json").write_text(json.dumps(study))
        return folder

    return make


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_columns_of_swarms_do_not_stand_there_empty(tmp_path: Path, make_study):
    text = words(render_study(make_study(tmp_path)).read_text())
    table = text[text.index("Arms") :]
    traffic = "uplink MB downlink MB count × wire × σ ~ density"
    assert f"arm accuracy before accuracy after {traffic} seeds reports" in table
    assert "stop rate" not in table.lower()
    assert "dense 25.0 % [25.0, 25.0] 51.0 % [38.3, 63.7] 0.002 [0.002, 0.002] 0.013" in table
    assert "4.44 [4.44, 4.44] 3.56 [3.56, 3.56] 1.00 [1.00, 1.00] 2 seed 0" in table
    assert "local 25.0 % [25.0, 25.0] 41.0 % [28.3, 53.7] – – – – – 2" in table


def test_under_attack_it_says_what_the_attackers_had(tmp_path: Path, make_study):
    text = words(render_study(make_study(tmp_path / "a", arms={"a": ("attack=text", 0.5)})).read_text())
    assert "attack success" in text
    assert "malicious weight uplink" not in text
    folder = make_study(tmp_path / "b", "attack=text", arms={"a": ("clients.malicious=1", 0.5)})
    text = words(render_study(folder).read_text())
    assert "wire × σ ~ density malicious weight malicious after rules seeds" in text
    assert "75.0 % [75.0, 75.0]" in text


def test_each_arm_is_a_point_of_accuracy_and_bytes(tmp_path: Path, make_study):
    """The reference that sends nothing has no place on that axis, and must not look like a free lunch."""
    study = json.loads((make_study(tmp_path) / "study.json").read_text())
    lines = {row["run"]: [] for row in study["rows"]}
    titles = [picture.title for picture in pictures(study, lines)]
    assert titles == ["Accuracy against uplink, held out"]
    page = render_study(tmp_path).read_text()
    assert re.findall(r'alt="([^"]+)"', page) == ["Accuracy, held out", *titles]


def test_swarms_keep_their_columns_and_have_no_such_figure():
    assert columns_of([{"attack": {}, "victim": {}}, None]) is COLUMNS
    nothing = {"mean": None, "interval": None}
    swarm = {"cells": {"uplink MB": nothing, "accuracy after": {"mean": 0.5, "interval": None}}}
    assert accuracy_by_uplink({"a": swarm}) is None


def test_a_grid_of_federations_tells_of_traffic(tmp_path: Path, make_study):
    arms = {"uniform.all": ("aggregation=uniform", 0.5), "uniform.half": ("budget.share=0.5", 0.4)}
    folder = make_study(tmp_path, arms=arms, grid={"weights": ["uniform"], "budget": ["all", "half"]})
    text = words(render_study(folder).read_text())
    cell = text[text.index("weights × budget") : text.index("Arms")]
    assert "accuracy after 51.0 % [38.3, 63.7] uplink MB 0.002 [0.002, 0.002]" in cell
    assert "length" not in cell
