"""Without these, two runs could not be compared byte by byte, and a killed run could not go on."""

import json
import logging
from pathlib import Path

import pytest

from turncoat.platform.journal import metrics


def line(round: int, peer: str = "peer-00", **more):
    return {
        "seconds": {"total": 1.5},
        "peer": peer,
        "round": round,
        "kind": "round",
        "loss": 0.1 + 0.2,
        **more,
    }


def test_the_bytes_of_a_line_do_not_depend_on_the_order_of_its_keys():
    forwards = line(1, verdicts={"wrong": 1, "right": 2}, margin=0.5)
    backwards = dict(reversed(forwards.items())) | {"verdicts": {"right": 2, "wrong": 1}}
    expected = (
        '{"kind": "round", "round": 1, "peer": "peer-00", "verdicts": {"right": 2, "wrong": 1}, '
        '"loss": 0.30000000000000004, "margin": 0.5, "seconds": {"total": 1.5}}'
    )
    assert metrics.encode(forwards) == metrics.encode(backwards) == expected


def test_two_runs_differ_in_their_seconds_alone():
    slow = metrics.encode(line(1) | {"seconds": {"total": 99.0}})
    fast = metrics.encode(line(1))
    assert slow != fast
    assert metrics.without_times(slow) == metrics.without_times(fast)
    assert "seconds" not in metrics.without_times(fast)
    assert '"loss": 0.30000000000000004' in metrics.without_times(fast)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_figure_that_is_no_number_is_refused_by_name(bad: float):
    """A diverged run must say which figure diverged, and must not leave a file that JSON readers reject."""
    with pytest.raises(ValueError, match=r"round 3, peer-00, grad_norm is (nan|-?inf)"):
        metrics.encode(line(3, grad_norm=bad))
    with pytest.raises(ValueError, match="accuracy_interval"):
        metrics.encode(line(3, accuracy_interval=[0.1, bad]))


@pytest.mark.parametrize("missing", ["kind", "round", "peer"])
def test_a_line_without_its_place_is_refused(missing: str):
    incomplete = line(1)
    del incomplete[missing]
    with pytest.raises(ValueError, match=missing):
        metrics.encode(incomplete)


def test_a_truncated_last_line_is_reported_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "metrics.jsonl"
    metrics.append(path, [line(1), line(1, "peer-01")])
    with path.open("ab") as file:
        file.write(b'{"kind": "round", "rou')
    with caplog.at_level(logging.WARNING):
        found = metrics.read(path)
    assert [entry["peer"] for entry in found.lines] == ["peer-00", "peer-01"]
    assert found.truncated == '{"kind": "round", "rou'
    assert "incomplete line" in caplog.text


def test_nothing_is_added_behind_a_truncated_line(tmp_path: Path):
    """Two half lines glued together would make the whole file unreadable."""
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"kind"')
    with pytest.raises(ValueError, match="rewind"):
        metrics.append(path, [line(1)])
    assert path.read_bytes() == b'{"kind"'


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(metrics.encode(line(1)) + "\nnot json\n" + metrics.encode(line(2)) + "\n")
    with pytest.raises(ValueError, match="line 2 is no JSON"):
        metrics.read(path)


def test_a_file_that_is_not_there_holds_no_lines(tmp_path: Path):
    assert metrics.read(tmp_path / "metrics.jsonl") == ([], None)


def test_truncation_gives_the_bytes_that_were_there_after_that_round(tmp_path: Path):
    """Train 4 = train 2 + resume 2 needs the file to be as if rounds 3 and 4 had never been."""
    path = tmp_path / "metrics.jsonl"
    metrics.append(path, [line(1), line(2)])
    after_two = path.read_bytes()
    metrics.append(path, [line(3), line(4)])
    with path.open("ab") as file:
        file.write(b'{"ki')
    metrics.truncate_after(path, 2)
    assert path.read_bytes() == after_two
    assert all(json.loads(text)["round"] <= 2 for text in path.read_text().splitlines())
