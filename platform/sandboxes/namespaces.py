"""Linux namespaces with a warm Python in them, made by `bwrap`: the command line, and the socket to it."""

import functools
import importlib.util
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import sysconfig
from importlib import resources
from pathlib import Path

from turncoat.platform.config.errors import BadInput
from turncoat.platform.sandboxes.base import WorkerLost
from turncoat.platform.sandboxes.seccomp import bpf

START_SECONDS = 60.0
"""Wait this long for a namespace: a busy machine, and packages that import slowly."""


def source(name: str) -> str:
    """The text of a module of this folder, to be run inside."""
    return (resources.files("turncoat.platform.sandboxes") / f"{name}.py").read_text(encoding="utf-8")


def command(packages: tuple[str, ...]) -> list[str]:
    """`bwrap` up to the Python program: what the inside sees, and nothing else of this machine.

    No /proc, no /home, no /etc, no /tmp, nothing that can be written to. Raises BadInput where there is no
    bwrap.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise BadInput(
            "sandbox.kind: 'bubblewrap' needs `bwrap`: install the package bubblewrap, or use 'monty'"
        )
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    line = [bwrap, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    line += ["--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"]
    if os.geteuid() == 0:
        # The worker makes its children nobody, and ends them.
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
            line += ["--cap-add", capability]
    shown = {path: path for path in [*libraries(python.parents[1]), str(python)]}
    shown |= {str(path): f"/packages/{path.name}" for name in packages for path in package_folders(name)}
    # Folders on the way would be root's alone.
    for folder in sorted({str(parent) for path in shown.values() for parent in Path(path).parents}):
        line += ["--perms", "0755", "--dir", folder]
    for path, inside in shown.items():
        line += ["--ro-bind", path, inside]
    for site in python.parents[1].glob("lib*/python*/site-packages"):
        line += ["--tmpfs", str(site)] * any(site.is_relative_to(path) for path in shown)  # no part of Python
    for device in ("/dev/null", "/dev/urandom"):
        line += ["--dev-bind", device, device]
    line += ["--remount-ro", "/", "--chdir", "/", "--clearenv", "--setenv", "PYTHONHASHSEED", "0"]
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        line += ["--setenv", threads, "1"]
    return [*line, str(python), "-s", "-P", "-S", "-B", "-X", "utf8", "-c"]


def libraries(prefix: Path) -> list[str]:
    """Folders and files of a bare Python that is installed at `prefix`, its program apart."""
    machine = sysconfig.get_config_var("MULTIARCH")
    wanted = ["/lib64", "/usr/lib64", "/etc/ld.so.cache"]
    if os.path.isdir(f"/usr/lib/{machine}"):
        wanted += [f"/lib/{machine}", f"/usr/lib/{machine}"]
    else:
        wanted += ["/lib", "/usr/lib"]
    # A prefix of its own may hold shared libraries beside the standard library.
    wanted += (
        [sysconfig.get_path("stdlib")] if prefix == Path("/usr") else [f"{prefix}/lib", f"{prefix}/lib64"]
    )
    return [path for path in dict.fromkeys(wanted) if os.path.exists(path)]


def package_folders(name: str) -> list[Path]:
    """Where a package lies: its folder, or its file, and the folder of libraries that wheels put beside it.

    Raises BadInput if it is not installed.
    """
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None or not spec.has_location:
        raise BadInput(f"sandbox.packages: {name!r} is no package that is installed here")
    path = Path(spec.origin)
    path = path.parent if path.name == "__init__.py" else path
    libraries = path.with_name(f"{name}.libs")
    return [path, libraries] if libraries.is_dir() else [path]


@functools.cache
def probe(packages: tuple[str, ...]) -> None:
    """Raises BadInput, with what bwrap says, if namespaces cannot be made here."""
    bpf(platform.machine())
    line = [*command(packages), "import ctypes, os; os.setuid(65534) if os.getuid() == 0 else None"]
    tried = subprocess.run(
        line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_SECONDS
    )
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["no message"])[-1]
        raise BadInput(
            f"sandbox.kind: 'bubblewrap' cannot make namespaces here ({said}): allow user namespaces, in a "
            "container add CAP_SYS_ADMIN, or use 'monty'"
        )


class Namespace:
    """A running worker and the socket to it. One job at a time. Ends with this process, however that ends."""

    def __init__(self, packages: tuple[str, ...]):
        given = {
            "exchange": source("exchange"),
            "calc": source("calc"),
            "packages": packages,
            "filter": bpf(platform.machine()).hex(),
        }
        self.socket, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inside:
            self.process = subprocess.Popen(
                [*command(packages), source("worker"), json.dumps(given)],
                stdin=inside.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
            )
        self.socket.settimeout(START_SECONDS)
        if self.socket.recv(16) != b"ready":
            self.close()
            raise RuntimeError("a bubblewrap worker ended while it started")

    def start(self, job: dict, files: list[int]) -> None:
        """Raises WorkerLost."""
        try:
            socket.send_fds(self.socket, [json.dumps(job).encode()], files)
        except ConnectionError as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the job that runs now. Raises WorkerLost."""
        try:
            self.socket.send(b"kill")
        except ConnectionError as error:
            raise WorkerLost from error

    def end_of_job(self) -> tuple[int, float]:
        """(wait status, CPU seconds) of the job that has ended. Raises WorkerLost if the worker has too."""
        try:
            message = self.socket.recv(1000)
        except ConnectionError:
            message = b""
        if not message:
            raise WorkerLost
        status, seconds = json.loads(message)
        return status, seconds

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
