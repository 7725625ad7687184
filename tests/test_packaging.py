"""What `pip install turncoat` gives: all that the four rooms hold, and nothing that shadows other modules."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("platform", "actors", "jobs", "tuning")


def run(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the tracked files, built from a copy: a build leaves folders beside setup.py."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = run("git", "ls-files", "-z").split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    run(*pip, "--wheel-dir", str(folder), str(source))
    return next(folder.glob("turncoat-*.whl"))


def test_wheel_holds_every_tracked_file_of_the_rooms(wheel: Path) -> None:
    """A recipe, checkpoint or new subpackage left out would be missed only by those who install the wheel."""
    tracked = [name for name in run("git", "ls-files", *ROOMS).splitlines() if (ROOT / name).is_file()]
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert [name for name in tracked if f"turncoat/{name}" not in packed] == []


def test_wheel_holds_only_turncoat(wheel: Path) -> None:
    """A stray top-level `platform` or `tests` in site-packages would break other people's imports."""
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"turncoat"}


def test_wheel_has_the_command(wheel: Path) -> None:
    """Without the entry point there is no `turncoat` to type."""
    archive = zipfile.ZipFile(wheel)
    points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "turncoat = turncoat.jobs.cli:main" in archive.read(points).decode()


def test_standard_library_platform_is_not_shadowed() -> None:
    """Python started in the repository root, as everyone does, must still find the standard `platform`."""
    found = run(sys.executable, "-c", "import platform; print(platform.system(), platform.__file__)")
    assert str(ROOT) not in found


def test_module_runs_from_the_root() -> None:
    """`python -m` in the repository root is how a job without the command on its PATH starts a run."""
    assert run(sys.executable, "-m", "turncoat.jobs.cli", "--version").startswith("turncoat ")
