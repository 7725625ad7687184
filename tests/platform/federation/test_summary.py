"""What all rounds add up to: the figures that studies, tables and claims about bytes are made of."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_traffic_adds_up_over_what_was_taken(tmp_path: Path, federated_run):
    """What a refused client sent has not moved the policy; who was absent is counted, and no compression."""
    traffic = summary(federated_run(tmp_path / "run"))["traffic"]
    assert traffic["uplink_bytes"] == 1500 + 750
    assert traffic["downlink_bytes"] == 3 * 4000 + 3 * 500
    assert traffic["entries"] == 900
    assert traffic["count"] == pytest.approx(4000 / 900)
    assert traffic["wire"] == pytest.approx(2 * 4000 / 2250)
    assert traffic["downlink_wire"] == pytest.approx(2 * 6000 / 13500)
    assert traffic["bound_bytes"] == 1440
    assert traffic["absences"] == 1
    assert traffic["malicious_weight"] is None
    assert traffic["malicious_factor"] is None


def test_the_liar_s_share_is_the_mean_over_rounds(tmp_path: Path, federated_run):
    """Half of the first round, all of the second."""
    traffic = summary(federated_run(tmp_path / "run", "clients.malicious=1", "attack=text"))["traffic"]
    assert traffic["malicious_weight"] == pytest.approx(0.75)
    assert traffic["malicious_factor"] == pytest.approx(0.75)


def test_references_have_no_traffic(tmp_path: Path, federated_run):
    found = summary(federated_run(tmp_path / "run", "kind=local_only"))
    assert found["traffic"] is None
    assert found["victim"]["evaluated"] == 300


def test_reading_what_a_run_left_needs_no_torch():
    """A report in a second rather than in five."""
    code = "import sys, turncoat.platform.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
