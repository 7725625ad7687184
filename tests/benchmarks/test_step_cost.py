"""The cost benchmark keeps running; what it finds is for a quiet machine and its own command."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("step_cost.py")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason="trl is not installed: pip install 'turncoat[bench]'")
def test_the_cost_of_a_step_is_measured_on_the_same_work(tmp_path):
    """Without it, an interface moves on and nobody can check any more what a step costs against TRL."""
    out = tmp_path / "cost.json"
    command = [sys.executable, str(SCRIPT), "--smoke", "--repetitions", "1", "--out", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, env=os.environ, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    report = json.loads(out.read_text())
    [case] = report["forced"]
    assert set(case["cpu_seconds"]) == {
        "turncoat",
        "trl",
        "bare loop",
        "turncoat + support",
        "turncoat + three",
    }
    assert case["turncoat_over"]["trl"]["median"] > 0
    trl = case["trl_settings"]["trl"]
    assert (trl["bf16"], trl["gradient_checkpointing"], trl["beta"]) == (False, False, 0.0)
    assert trl["per_device_train_batch_size"] == case["work"]["prompts"] * case["work"]["group"]
    assert report["environment"]["threads"] == 1
    assert "with support check" in report["natural"][0]["over_turncoat"]
