"""If these fail, curves are drawn from the wrong rows of a journal."""

import math
from pathlib import Path

import numpy as np
import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import CompletionId
from turncoat.platform.journal import completions
from turncoat.platform.records import Belief, Completion, Truth
from turncoat.platform.scored import read_scores


def record(
    folder: Path, round: int, rows: list[tuple[int, int, Truth, dict[str, float]]], peer: int = 0
) -> None:
    """rows: (receiver, prompt, truth, scores). Peer 3 is malicious."""
    (folder / "experiment.yaml").write_text("peers: {count: 4, malicious: 1}")
    written = []
    for i, (receiver, prompt, truth, scores) in enumerate(rows):
        id = CompletionId(round, prompt, peer, i)
        belief = Belief(id, 1.0, "right", 9, 0.0, True, scores)
        written.append(completions.row(Completion(id, "task/1", "x"), "?", truth, receiver, belief))
    completions.write_part(folder, round, written)


def test_scores_come_back_by_defence_and_truth(tmp_path: Path) -> None:
    """Failed and never asked are two things, and the other classes stay out."""
    record(
        tmp_path,
        1,
        [
            (0, 0, "honest", {"a": 0.5, "b": 1.0}),
            (0, 0, "poisoned", {"a": math.nan}),
            (0, 1, "filler", {"a": 9.0}),
            (0, 1, "honest", {}),
        ],
    )
    record(tmp_path, 2, [(0, 0, "poisoned", {"a": 0.7, "b": 0.1})])
    for merged in (False, True):
        if merged:
            completions.merge(tmp_path)
        logged = read_scores(tmp_path)
        assert sorted(logged.scores) == ["a", "b"]
        found = logged.of("a", "poisoned")
        np.testing.assert_array_equal(found.values, [0.5, np.nan, 0.7])
        assert found.positive.tolist() == [False, True, True]
        assert found.groups.tolist() == [0, 0, 2], "the prompts of two rounds are two groups"
        assert logged.of("b", "poisoned").values.tolist() == [1.0, 0.1]
        assert logged.of("a", "filler").values.tolist() == [0.5, 9.0]
        assert logged.counts("a", "poisoned") == {"scored": 1, "failed": 1, "unasked": 0}
        assert logged.counts("a", "honest") == {"scored": 1, "failed": 0, "unasked": 1}


def test_what_a_malicious_peer_wrote_honestly_is_left_out(tmp_path: Path) -> None:
    """A defence that throws out all of an attacker's completions would look as if it rejected honest ones."""
    record(tmp_path, 1, [(0, 0, "honest", {"a": 0.0})])
    record(tmp_path, 2, [(0, 0, "honest", {"a": 1.0}), (0, 0, "poisoned", {"a": 1.0})], peer=3)
    found = read_scores(tmp_path).of("a", "poisoned")
    assert (found.values.tolist(), found.positive.tolist()) == ([0.0, 1.0], [False, True])


def test_one_receiver_is_read(tmp_path: Path) -> None:
    """Each honest peer that learns writes a row of its own for one completion."""
    record(tmp_path, 1, [(peer, 0, "honest", {"a": float(peer)}) for peer in (2, 1)])
    assert read_scores(tmp_path).of("a", "poisoned").values.tolist() == [1.0]
    assert read_scores(tmp_path, 2).of("a", "poisoned").values.tolist() == [2.0]
    with pytest.raises(BadInput, match=r"peer is 0: .* allowed are 1, 2"):
        read_scores(tmp_path, 0)


def test_a_run_without_a_round_is_refused(tmp_path: Path) -> None:
    record(tmp_path, 1, [])
    with pytest.raises(BadInput, match="no completions yet"):
        read_scores(tmp_path)
