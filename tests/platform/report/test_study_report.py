"""The page that compares arms: means over seeds with their intervals, and the way to each run."""

import json
import re
from pathlib import Path

import pytest

from turncoat.platform.report import render_run, render_study

ARMS = {
    "no attack": {"defended": False, "attacked": False},
    "attack": {"defended": False, "attacked": True},
    "attack, support": {"defended": True, "attacked": True},
}


def make_study(folder: Path, make_run, seeds: list[int]) -> Path:
    rows = []
    for arm, setting in ARMS.items():
        for seed in seeds:
            run = f"arms/{arm.replace(', ', '-').replace(' ', '-')}/seed-{seed}"
            made = make_run(folder / run, name="demo", seed=seed, rounds=8, **setting)
            render_run(made)
            rows.append(
                {
                    "arm": arm,
                    "seed": seed,
                    "run": run,
                    "summary": json.loads((made / "summary.json").read_text()),
                }
            )
    study = {"name": "demo <study>", "arms": list(ARMS), "seeds": seeds, "rows": rows}
    (folder / "study.json").write_text(json.dumps(study))
    return folder


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_several_seeds_give_a_mean_with_its_t_interval(tmp_path: Path, make_run):
    folder = make_study(tmp_path / "study", make_run, [0, 1, 2])
    page = render_study(folder).read_text()
    rates = [
        row["summary"]["attack"]["success_rate"]
        for row in json.loads((folder / "study.json").read_text())["rows"]
        if row["arm"] == "attack"
    ]
    mean = sum(rates) / 3
    half = 4.302652729696 * (sum((rate - mean) ** 2 for rate in rates) / 2) ** 0.5 / 3**0.5
    assert f"attack {100 * mean:.1f} % [{100 * (mean - half):.1f}, {100 * (mean + half):.1f}]" in words(page)
    assert "attack, support 0.0 % [0.0, 0.0]" in words(page)
    assert "demo &lt;study&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    for link in re.findall(r'href="([^"]+)"', page):
        assert (folder / link).is_file()
    assert page.count("href=") == 9


def test_one_seed_gives_wilsons_interval_over_completions(tmp_path: Path, make_run):
    page = words(render_study(make_study(tmp_path / "study", make_run, [0])).read_text())
    assert "no attack 0.0 % [0.0, 0.8] 40.0 % [35.8, 44.4]" in page
    assert "100.0 % [96.2, 100.0] 2.0 % [1.0, 4.5] 3.0 % 0.60 s 1 seed 0" in page


def test_an_unfinished_seed_is_counted_as_such(tmp_path: Path, make_run):
    folder = make_study(tmp_path / "study", make_run, [0, 1])
    study = json.loads((folder / "study.json").read_text())
    study["rows"][0]["summary"] = None
    (folder / "study.json").write_text(json.dumps(study))
    assert "1 of 2 seed 0 , seed 1" in words(render_study(folder).read_text())


def test_other_folders_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="is no study"):
        render_study(tmp_path)


def make_grid(folder: Path, make_run, summarise=lambda summary: summary) -> Path:
    """text and half × none and support; half.support is skipped, text.none has not begun."""
    rows = []
    for arm, attacked, defended in (
        ("clean", False, False),
        ("text.support", True, True),
        ("half.none", True, False),
    ):
        for seed in (0, 1):
            run = f"arms/{arm}/seed-{seed}"
            made = make_run(folder / run, seed=seed, rounds=4, attacked=attacked, defended=defended)
            summary = summarise(json.loads((made / "summary.json").read_text()))
            rows.append({"arm": arm, "seed": seed, "run": run, "summary": summary})
    rows.append({"arm": "text.none", "seed": 0, "run": "arms/text.none/seed-0", "summary": None})
    study = {
        "name": "grid",
        "arms": ["clean", "text.none", "text.support", "half.none"],
        "seeds": [0, 1],
        "grid": {"attack": ["text", "half"], "defence": ["none", "support"]},
        "skipped": {"half.support": "makes <no> sense"},
        "rows": rows,
    }
    (folder / "study.json").write_text(json.dumps(study))
    return folder


def test_a_grid_is_a_table_of_its_factors(tmp_path: Path, make_run):
    """Every cell with its figures, or why it has none: a hole in the table would be read as a result."""

    def with_lengths(summary):
        summary["victim"] |= {"length_mean": 30.0 + summary["seed"], "length_ratio": 1.25}
        return summary

    folder = make_grid(tmp_path / "study", make_run, with_lengths)
    page = words(render_study(folder).read_text())
    table = page[page.index("attack × defence") : page.index("Arms")]
    assert "attack none support text not finished attack success 0.0 % [0.0, 0.0]" in table
    assert "stop rate 100.0 % [100.0, 100.0]" in table
    assert "length 30.5 [24.1, 36.9]" in table
    assert "length / clean 1.25 [1.25, 1.25]" in table
    assert table.count("cost of defence") == 1, (
        "a cell without defence has no cost, rather than none to speak of"
    )
    assert "– 1" in table
    assert "1 makes &lt;no&gt; sense" in table
    assert "false positives 2.0 % [2.0, 2.0]" in table


def test_each_attack_of_a_grid_has_figures_of_its_own(tmp_path: Path, make_run):
    """Fifty arms in one figure show nothing."""
    page = render_study(make_grid(tmp_path / "study", make_run)).read_text()
    titles = re.findall(r'alt="([^"]+)"', page)
    assert "Attack success, held out: text" in titles
    assert "Accuracy of honest peers, held out: half" in titles
    assert "Accuracy of honest peers, held out" in titles, "arms beside the grid"
    assert len(titles) == 6
