"""The page that a user opens after a run: self-contained, right in its figures, and safe to open."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from turncoat.platform.report import render_run, run


class Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.seen: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]


@pytest.fixture
def page(tmp_path: Path, make_run) -> str:
    path = render_run(make_run(tmp_path / "run"))
    assert path == tmp_path / "run" / "report.html"
    return path.read_text()


def test_what_hostile_peers_wrote_stays_text(page: str):
    """A report that runs a peer's script would hand the reader's machine to the attacker under study."""
    assert "<script" not in page
    assert "&lt;script&gt;alert(&#39;<mark>ALL HAIL TO THE THIEF</mark>&#39;)&lt;/script&gt;" in page
    assert "&lt;b&gt;2 + 2&lt;/b&gt;?" in page
    assert not {"script", "b", "iframe", "object", "link"} & set(Tags(page).seen)
    assert "\x00" not in page
    assert "\u202e" not in page


def test_it_needs_nothing_from_outside(page: str):
    assert not re.search(r"https?://", page)
    links = Tags(page).links
    assert len(links) == 6
    assert all(link.startswith("data:image/svg+xml;base64,") for link in links)


def test_tables_hold_the_evaluations_with_n_and_interval(page: str):
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "honest peers 0 500 0.0 % [0.0, 0.8] 40.0 %" in text
    assert "stop rate 100.0 % [97.4, 100.0] 144 poisoned completions" in text
    assert re.search(r"false-positive rate \d\.\d % \[\d\.\d, \d\.\d\] 432 honest completions", text)
    assert "cost of the defences 0.60 s 3.0 % of all rounds" in text
    assert "Finished after 12 rounds." in text
    assert "turncoat run demo seed=0" in text


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_each_peer_stands_there_before_and_after_and_once_if_measured_once(tmp_path: Path, make_run):
    folder = make_run(tmp_path / "run", finished=False)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    first, last = [[one for one in lines if one["kind"] == "evaluation"][at] for at in (0, -1)]
    peers = {"peer": "peer-00"}, {"peer": "peer-01", "n": 499}
    apart = [line | peer for line in (first, last) for peer in peers]
    for kept, ends in ((apart, (0, last["round"])), (apart[:2], (0,))):
        (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
        text = words(render_run(folder).read_text())
        for peer, n in (("peer-00", 500), ("peer-01", 499)):
            assert [text.count(f"{peer} {round} {n} ") for round in ends] == [1] * len(ends)


def test_each_defence_has_its_rates_and_its_cost(page: str):
    """Of several defences one wants to know which one works, and what it costs."""
    assert re.search(r"support 100\.0 % \[97\.4, 100\.0\] \d\.\d % \[\d\.\d, \d\.\d\] – 0\.250 ", words(page))


def test_rejected_look_alikes_are_no_stopped_attack(tmp_path: Path, make_run):
    """They are honest: a defence that rejects them all has failed, not won."""
    text = words(render_run(make_run(tmp_path / "run", sort="lookalike")).read_text())
    assert "look-alikes rejected 100.0 % [97.4, 100.0] 144 lookalike completions" in text
    assert "stop rate 100" not in text
    assert re.search(r"support – \d\.\d % \[\d\.\d, \d\.\d\] 100\.0 % \[97\.4, 100\.0\] 0\.250 ", text)


def test_a_run_of_an_earlier_version_has_a_page_too(tmp_path: Path, make_run):
    """Its rounds say nothing about single defences."""
    folder = make_run(tmp_path / "run", rounds=2)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        for key in ("objections", "n_lookalike", "accepted_lookalike"):
            line.pop(key, None)
        line["seconds"].pop("defences", None)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = words(render_run(folder).read_text())
    assert "stop rate 100.0 %" in text
    assert "Each defence by itself" not in text


def test_the_histogram_s_threshold_is_the_defence_s_own(tmp_path: Path, make_run, monkeypatch):
    """Two defences of one kind have two thresholds; a calibrated one stands in the config as well."""
    drawn = {}
    monkeypatch.setattr(run, "score_histogram", lambda name, scores, limit: drawn.setdefault(name, limit))
    scores = {"a": {}, "support": {}, "b": {}}
    monkeypatch.setattr(run.samples, "scores_by_truth", lambda folder: scores)
    sections = [
        {"kind": "support", "threshold": 0.1, "name": "a", "calibration": None},
        {"kind": "support", "threshold": 0.2, "name": None},
        {"kind": "support", "threshold": 0.3, "name": "b", "calibration": "file.json"},
    ]
    run.histograms(tmp_path, {"defences": sections})
    assert drawn == {"a": 0.1, "support": 0.2, "b": 0.3}


def test_the_config_is_folded_in(page: str):
    assert re.search(r"<details><summary>Resolved config</summary><pre>attack:\n  kind: text\n", page)


def test_two_renderings_give_the_same_bytes(tmp_path: Path, make_run):
    folder = make_run(tmp_path / "run", rounds=4)
    assert render_run(folder).read_bytes() == render_run(folder).read_bytes()


def test_an_unfinished_run_has_a_page_too(tmp_path: Path, make_run):
    """Whoever looks on while a run goes, or after it was killed, sees what there is."""
    folder = make_run(tmp_path / "run", rounds=2, finished=False)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "rou')
    page = render_run(folder).read_text()
    assert "Unfinished: 2 of 2 rounds so far." in page
    assert "The last line of metrics.jsonl is incomplete" in page


def test_a_run_that_has_only_begun_has_a_page_too(tmp_path: Path, make_run):
    page = render_run(make_run(tmp_path / "run", rounds=0, finished=False)).read_text()
    assert "Sample completions" not in page


def test_a_run_without_attack_or_defence(tmp_path: Path, make_run):
    page = render_run(make_run(tmp_path / "run", rounds=4, defended=False, attacked=False)).read_text()
    assert "stop rate" not in page
    assert "Poisoned" not in page


def test_other_folders_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="is no run"):
        render_run(tmp_path)
