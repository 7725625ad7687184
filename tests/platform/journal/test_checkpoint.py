"""A resumed run starts from the newest checkpoint that is whole, or says that there is none."""

import logging
import os
from pathlib import Path

import pytest

from turncoat.platform.journal import checkpoint


def save(checkpoints: Path, round: int) -> Path:
    pending = checkpoint.pending(checkpoints, round)
    (pending / "peer-00").mkdir()
    (pending / "peer-00" / "weights.safetensors").write_bytes(bytes([round]) * 100)
    return checkpoint.commit(checkpoints, round, {"weights_sha256": {"peer-00": "ab"}})


def test_the_newest_checkpoint_is_found_with_its_state(tmp_path: Path):
    assert checkpoint.latest(tmp_path) is None
    save(tmp_path, 9)
    save(tmp_path, 10)
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found == (tmp_path / "round-00010", 10, {"round": 10, "weights_sha256": {"peer-00": "ab"}})


def flip_a_byte(folder: Path):
    path = folder / "peer-00" / "weights.safetensors"
    path.write_bytes(b"\xff" + path.read_bytes()[1:])


def cut_a_file(folder: Path):
    os.truncate(folder / "peer-00" / "weights.safetensors", 50)


def lose_a_file(folder: Path):
    (folder / "peer-00" / "weights.safetensors").unlink()


def add_a_file(folder: Path):
    (folder / "peer-00" / "more").write_text("")


def lose_the_manifest(folder: Path):
    (folder / "manifest.json").unlink()


def cut_the_manifest(folder: Path):
    os.truncate(folder / "manifest.json", 10)


@pytest.mark.parametrize(
    "damage", [flip_a_byte, cut_a_file, lose_a_file, add_a_file, lose_the_manifest, cut_the_manifest]
)
def test_a_damaged_checkpoint_is_skipped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage
):
    save(tmp_path, 1)
    damage(save(tmp_path, 2))
    with caplog.at_level(logging.WARNING):
        found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.round == 1
    assert "round-00002 is skipped" in caplog.text


def test_a_checkpoint_that_was_never_committed_does_not_count(tmp_path: Path):
    save(tmp_path, 1)
    (checkpoint.pending(tmp_path, 2) / "peer-00").mkdir()
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.round == 1


def test_pending_starts_empty_after_a_kill(tmp_path: Path):
    (checkpoint.pending(tmp_path, 2) / "half").write_text("")
    assert not list(checkpoint.pending(tmp_path, 2).iterdir())


def test_a_checkpoint_of_the_same_round_is_replaced(tmp_path: Path):
    flip_a_byte(save(tmp_path, 3))
    save(tmp_path, 3)
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.round == 3
    assert os.listdir(tmp_path) == ["round-00003"]


def test_prune_keeps_the_newest(tmp_path: Path):
    for round in range(1, 5):
        save(tmp_path, round)
    checkpoint.prune(tmp_path, keep=2)
    assert sorted(os.listdir(tmp_path)) == ["round-00003", "round-00004"]


def test_later_checkpoints_can_be_dropped(tmp_path: Path):
    for round in (1, 2, 3):
        save(tmp_path, round)
    checkpoint.drop_after(tmp_path, 1)
    assert os.listdir(tmp_path) == ["round-00001"]
