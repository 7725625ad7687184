"""The page about a federation: who was weighed how, what was sent, and what the server never saw."""

import re
from pathlib import Path

import pytest

from turncoat.platform.report import render_run


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.fixture
def page(tmp_path: Path, federated_run) -> str:
    return render_run(federated_run(tmp_path / "run")).read_text()


def test_the_three_figures_of_traffic_stand_apart_and_are_named(page: str):
    """A count of 5 is not a wire of 4: whoever mixes them up claims what is not there.

    Round 1: 600 entries of 3 · 1000 in 1500 bytes; in all 900 of 4 · 1000 in 2250, and 12,000 + 1,500 down.
    """
    text = words(page)
    header = "count × wire × bound (MB) downlink (MB) downlink wire ×"
    assert f"uplink (MB) entries density {header} all 4 0.002 900 22.5 % 4.44 3.56 0.001 0.013 0.89" in text
    assert "1 3 0.002 600 20.0 % 5.00 4.00 0.001 0.012 0.50" in text


def test_each_client_has_its_line_in_each_round(page: str):
    """Weights, signals, budgets and norms of a round explain why the policy went where it did."""
    text = words(page)
    assert (
        "1 client-02 taken 48 0.500 0.300 25.0 % 50.0 % 50.0 % 0.500 300 300 300 30.0 % 0.5000 750 480 4,000"
        in text
    )
    assert (
        "2 client-01 refused inconsistent 48 0.500 0.200 25.0 % 50.0 % 0.0 % – 200 200 0 0.0 % – 0 0 500"
        in text
    )


def test_a_client_that_stayed_away_says_why(page: str):
    assert "2 client-00 absent was late – – – – – 0.0 % –" in words(page)


def test_warnings_of_the_server_are_shown_as_text(page: str):
    """A frozen training is not to be found by reading a log."""
    assert "Round 2: &lt;b&gt;frozen&lt;/b&gt;" in page


def test_completions_are_said_to_be_the_clients(page: str):
    """Shown without a word, they would suggest that the server has them."""
    head, _, tail = page.partition("<h2>From the clients' own journals</h2>")
    assert "of client" not in head
    assert "&lt;script&gt;of client 0&lt;/script&gt;" in tail
    assert "<script" not in page
    assert "client-02: Honest, round 1" in tail
    assert "None of them, no prompt and no single reward reached the server" in words(tail)


def test_accuracy_is_drawn_over_rounds_and_against_bytes(page: str):
    titles = re.findall(r'alt="([^"]+)"', page)
    assert titles[:2] == ["Accuracy", "Accuracy against uplink"]
    assert {"Weight before robust rules", "Signal", "Cumulative traffic"} <= set(titles)
    assert "Attack success" not in titles


def test_malicious_clients_are_told_apart(tmp_path: Path, federated_run):
    """With their share of the weight: (1/2 + 1) / 2."""
    text = words(
        render_run(federated_run(tmp_path / "run", "clients.malicious=1", "attack=text")).read_text()
    )
    assert "Malicious clients had 75.0 % of the weight before robust rules" in text
    assert "1 client-02 malicious taken" in text
    assert "client-02: Poisoned round 1" in text
    assert "server 2 100 30.0 % [20.0, 40.0] 50.0 %" in text


@pytest.mark.parametrize(("kind", "learners"), [("local_only", 3), ("centralised", 1)])
def test_references_have_a_page_without_traffic(tmp_path: Path, federated_run, kind: str, learners: int):
    """Nothing is exchanged there, and none of the columns about it means anything."""
    page = render_run(federated_run(tmp_path / "run", f"kind={kind}")).read_text()
    text = words(page)
    assert "Traffic" not in text
    assert "granted" not in text
    assert f"client-{learners - 1:02d} 0 100 25.0 %" in text, "whoever learns alone began somewhere too"
    assert f"client-{learners - 1:02d} 2 100 50.0 %" in text
    assert "reached the server" not in text, "there is none"
    assert f"client-{learners:02d}" not in text


def test_an_unfinished_run_has_a_page_too(tmp_path: Path, federated_run):
    folder = federated_run(tmp_path / "run", finished=False)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "rou')
    page = render_run(folder).read_text()
    assert "Unfinished: 2 of 2 rounds so far." in page
    assert "The last line of metrics.jsonl is incomplete" in page


def test_a_run_that_was_measured_once_says_so_once(tmp_path: Path, federated_run):
    """The same figures as "before" and "after" look like a run that learns nothing."""
    folder = federated_run(tmp_path / "run", finished=False)
    first = (folder / "metrics.jsonl").read_text().partition("\n")[0]
    (folder / "metrics.jsonl").write_text(first + "\n")
    assert words(render_run(folder).read_text()).count("server 0 100 25.0 %") == 1


def test_a_run_that_has_only_begun_has_a_page_too(tmp_path: Path, federated_run):
    folder = federated_run(tmp_path / "run", finished=False)
    (folder / "metrics.jsonl").write_text("")
    for client in (folder / "clients").iterdir():
        for part in client.rglob("*.parquet"):
            part.unlink()
    assert "No evaluation yet." in render_run(folder).read_text()


def test_two_renderings_give_the_same_bytes(tmp_path: Path, federated_run):
    folder = federated_run(tmp_path / "run")
    assert render_run(folder).read_bytes() == render_run(folder).read_bytes()


def test_many_clients_do_not_drown_the_legend(tmp_path: Path, federated_run, monkeypatch):
    from turncoat.platform.report import federated

    monkeypatch.setattr(federated, "NAMED", 2)
    folder = federated_run(tmp_path / "run", "clients.malicious=1", "attack=text")
    lines = [line for line in federated.Journal(folder).metrics().lines if line["peer"].startswith("client")]
    traces = federated.of_clients(lines, federated.curve_of("weight"))
    assert [trace.label for trace in traces] == ["honest clients", None, "malicious clients"]
