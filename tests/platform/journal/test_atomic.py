"""A user who kills a run loses at most what was being written, never what was there before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turncoat.platform.journal import atomic

KILLED_BEFORE_RENAME = """
import os, signal, sys
from pathlib import Path
from turncoat.platform.journal import atomic

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
atomic.write_text(Path(sys.argv[1]), "new")
"""


def test_a_kill_between_write_and_rename_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "summary.json"
    path.write_text("old")
    ended = subprocess.run([sys.executable, "-c", KILLED_BEFORE_RENAME, path])
    assert ended.returncode == -9
    assert path.read_text() == "old"
    assert (tmp_path / ".tmp-summary.json").read_text() == "new"
    atomic.sweep(tmp_path)
    assert os.listdir(tmp_path) == ["summary.json"]


def test_an_error_while_writing_leaves_the_old_file_and_no_litter(tmp_path: Path):
    path = tmp_path / "part"
    path.write_text("old")

    def fail_half_way():
        with atomic.replacing(path) as pending:
            pending.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["part"]


def test_a_folder_appears_whole_and_replaces_the_older_one(tmp_path: Path):
    target = tmp_path / "round-00001"
    (target / "peer-00").mkdir(parents=True)
    (target / "peer-00" / "stale").write_text("old")
    pending = atomic.temporary(target)
    pending.mkdir()
    (pending / "state.json").write_text("new")
    atomic.publish(pending, target)
    assert os.listdir(tmp_path) == ["round-00001"]
    assert os.listdir(target) == ["state.json"]


def test_sweep_deletes_half_written_folders_too(tmp_path: Path):
    (tmp_path / ".tmp-round-00002" / "peer-00").mkdir(parents=True)
    (tmp_path / "round-00001").mkdir()
    atomic.sweep(tmp_path)
    assert os.listdir(tmp_path) == ["round-00001"]
