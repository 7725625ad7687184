"""Where bubblewrap cannot be had, the person reads what to do; packages come in by their names."""

import os
from pathlib import Path

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import SANDBOXES
from turncoat.platform.sandboxes import namespaces
from turncoat.platform.sandboxes.base import Case
from turncoat.platform.sandboxes.seccomp import ARCHITECTURES, DENIED, bpf


def build(**settings):
    namespaces.probe.cache_clear()
    return SANDBOXES.build(SANDBOXES.parse({"kind": "bubblewrap", **settings}))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch) -> Path:
    """An empty folder, which is all of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    yield tmp_path
    namespaces.probe.cache_clear()


def test_missing_bwrap_is_told_with_the_fix(programs: Path):
    with pytest.raises(
        BadInput, match=r"sandbox\.kind: 'bubblewrap' needs `bwrap`: install .* or use 'monty'"
    ):
        build()


def test_namespaces_that_are_forbidden_are_told_with_the_reason(programs: Path):
    """The usual state of a container: the program is there and the kernel says no."""
    fake = programs / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)

    with pytest.raises(
        BadInput, match=r"cannot make namespaces here \(bwrap: No permissions .* CAP_SYS_ADMIN"
    ):
        build()


def test_unknown_machine_is_told(monkeypatch):
    monkeypatch.setattr(namespaces.platform, "machine", lambda: "riscv64")

    with pytest.raises(BadInput, match="is for x86_64 and aarch64, not riscv64"):
        build()


@pytest.mark.parametrize("name", ["no_such_package", "../etc", "sys", ""])
def test_package_that_is_not_installed_is_told(make, name: str):
    make("bubblewrap")

    with pytest.raises(BadInput, match=r"sandbox\.packages: "):
        build(packages=[name])


def test_packages_can_be_imported_by_programs_without_rights(make):
    """Programs of OpenMathInstruct import numpy and sympy."""
    with make("bubblewrap", packages=["numpy", "typing_extensions"], seconds=10.0) as rich:
        found = rich.run(["import numpy as np\nprint(np.arange(4).sum())", "import pydantic"])
        checked = rich.check(
            [
                Case(
                    "import numpy as np\ndef f(x): return [np.float64(i) for i in x]",
                    "assert f([1]) == [1]",
                    "f",
                )
            ]
        )

    assert (found[0].status, found[0].output) == ("ok", "6\n")
    assert found[1].detail == "ModuleNotFoundError"
    assert checked[0].status == "ok"


def test_filter_is_made_of_whole_lines_for_every_machine():
    for machine in ARCHITECTURES:
        assert len(bpf(machine)) % 8 == 0
        assert len(bpf(machine)) // 8 < 4096  # the kernel's limit


@pytest.mark.skipif(
    not Path("/usr/include/asm-generic/unistd.h").exists(), reason="needs the kernel's headers"
)
def test_numbers_of_system_calls_are_the_kernels():
    """A wrong number would forbid some harmless call, and leave the harmful one."""
    headers = [Path("/usr/include/asm-generic/unistd.h")]
    headers += Path("/usr/include").glob("*/asm/unistd_64.h")
    for column, header in ((1, headers[0]), (0, headers[-1])):
        if column == 0 and (len(headers) == 1 or os.uname().machine != "x86_64"):
            continue
        lines = [line.split() for line in header.read_text().splitlines() if line.startswith("#define __NR")]
        numbers = {line[1].removeprefix("__NR_").removeprefix("__NR3264_"): line[2] for line in lines}
        for name, call in DENIED.items():
            if name in numbers and call[column] is not None:
                assert numbers[name] == str(call[column]), name
