"""`environment.json`: what a run ran on. No environment variables, no host or user name, no paths."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("turncoat", "torch", "transformers", "ray", "datasets", "numpy", "tokenizers", "pyarrow")


def environment(command: str | None = None) -> dict[str, Any]:
    """Python, operating system, CPU, versions (null: not installed), the checkout of the code.

    `command` is what the user typed, where the caller wants it kept.
    """
    return {
        "command": command,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": {"model": cpu_model(), "count": os.cpu_count()},
        "packages": {name: _version(name) for name in PACKAGES},
        "git": git_state(Path(__file__).resolve().parents[2]),
    }


def cpu_model() -> str:
    """The processor's name as the kernel gives it, else the architecture."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def git_state(root: Path) -> dict[str, Any] | None:
    """`{"commit": …, "dirty": …}` of the checkout whose top is `root`, or None.

    A package that was installed into somebody's project lies below that project's top: its commit says
    nothing about this code, so it is not reported.
    """
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    commit = subprocess.run([git, "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    status = subprocess.run([git, "-C", root, "status", "--porcelain"], capture_output=True, text=True)
    if commit.returncode or status.returncode:
        return None  # no commit yet, or a checkout that belongs to another user
    return {"commit": commit.stdout.strip(), "dirty": bool(status.stdout.strip())}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
