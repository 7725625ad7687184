"""A sweep runs every point as a Ray Tune trial with peers of its own, and leaves one table."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import ray

from turncoat.platform.journal.journal import Journal
from turncoat.tuning.grid import axes_of, experiments_of, points_of
from turncoat.tuning.sweep import sweep

TREE = {
    "name": "swept",
    "rounds": 1,
    "task": {"kind": "arithmetic", "levels": [2]},
    "policy": {"name_or_path": "tiny-0.3m"},
    "prompts_per_round": 2,
    "group_size": 4,
    "sampling": {"top_k": 16, "max_new_tokens": 32},
    "attack": "text",
    "evaluation": {"every": 0, "final_completions": 10},
    "hardware": {"cpus_per_peer": 0.5},
}


@pytest.mark.ray
@pytest.mark.timeout(400)
def test_two_trials_and_their_table(tmp_path: Path) -> None:
    points = points_of(axes_of(["seed=0,1"]))
    try:
        table = pq.read_table(
            sweep(experiments_of(TREE, points), points, tmp_path, concurrency=1)
        ).to_pylist()
    finally:
        ray.shutdown()
    assert [row["point"] for row in table] == ["seed=0", "seed=1"]
    assert [row["failed"] for row in table] == [None, None]
    for row in table:
        summary = Journal.open(tmp_path / f"trial-{row['trial']:04d}").summary()
        assert row["attack.success_rate"] == summary["attack"]["success_rate"]
        assert row["seed"] == summary["seed"]
