"""A figure can be judged only if it is known what it was made with. A shared run gives no secret away."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

from turncoat.platform.journal.environment import environment, git_state


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_versions_and_cpu_are_there():
    found = environment("turncoat run demo")
    assert found["python"] == platform.python_version()
    assert found["command"] == "turncoat run demo"
    assert found["cpu"]["count"] == os.cpu_count()
    assert found["cpu"]["model"]
    assert {"torch", "transformers", "ray", "datasets", "numpy"} <= found["packages"].keys()
    assert found["packages"]["numpy"]


def test_it_holds_no_host_name_and_no_environment_variable(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "a-secret-of-mine")
    text = json.dumps(environment())
    assert "a-secret-of-mine" not in text
    assert socket.gethostname() not in text


def test_asking_for_versions_imports_none_of_the_packages():
    """Importing torch takes seconds, and the driver of a run may not need it."""
    script = (
        "import sys; from turncoat.platform.journal.environment import environment; environment();"
        "print(sorted({'torch', 'ray', 'transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_commit_and_whether_the_checkout_was_changed(tmp_path: Path):
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) is None
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert git_state(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "file").write_text("b")
    assert git_state(tmp_path) == {"commit": commit, "dirty": True}


def test_the_commit_of_a_project_that_merely_installed_the_package_is_not_reported(tmp_path: Path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "somebody else's")
    installed = tmp_path / "site-packages"
    installed.mkdir()
    assert git_state(installed) is None
