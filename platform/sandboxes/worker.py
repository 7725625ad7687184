"""What runs inside the bubblewrap namespaces: a warm Python that forks a child for every program.

Its source is handed to a bare interpreter, so it stands alone. It is process 1 of its namespace, it runs
nothing hostile itself, and its children hold none of its files: what they report comes on pipes that are the
host's.

Arguments: JSON of {exchange: source, calc: source, packages: [name], filter: hex}. Standard input: a socket
on which the host sends one JSON message per job, with the job's files, or `kill`; a job's end is answered by
[wait status, CPU seconds]. Files of a job: source (JSON, a list of parts), standard output, control; and for
a check the two ends of a channel between program and tests.
"""

import builtins
import ctypes
import fcntl
import gc
import importlib
import json
import math
import mmap
import os
import random
import resource
import select
import signal
import socket
import sys
import types
from collections.abc import Callable
from typing import NoReturn

CONTROL, INCOMING, OUTGOING = 3, 4, 5
"""File numbers in a child."""

STARTED = b"s"
"""What a child says on CONTROL once it is confined; then digits, which count calls, and a line of JSON."""

NOBODY = 65534

PRELOADED = """ abc ast bisect cmath collections contextlib copy dataclasses datetime decimal enum fractions
functools hashlib heapq io itertools json math numbers operator random re statistics string textwrap time
traceback typing
"""


def main() -> None:
    given = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody traces this process or reads its memory
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path = [path for path in sys.path if path] + (["/packages"] if given["packages"] else [])
    for name in (*PRELOADED.split(), *given["packages"]):
        importlib.import_module(name)
    sources: dict[str, dict] = {name: {"__name__": name} for name in ("exchange", "calc")}
    for name, namespace in sources.items():
        exec(given[name], namespace)
    lines = bytes.fromhex(given["filter"])
    program = Filter(len(lines) // 8, lines)
    host = socket.socket(fileno=0)
    baseline = address_space()
    gc.freeze()
    host.send(b"ready")
    while True:
        message, files, _, _ = socket.recv_fds(host, 1 << 16, 8)
        if not message:
            return
        if message == b"kill":  # it was late: that job had ended
            continue
        pid = os.fork()
        if pid == 0:
            try:
                Child(json.loads(message), files, sources, lambda: confine(libc, program), baseline).run()
            finally:
                os._exit(1)
        for file in files:
            os.close(file)
        if not watch(host, pid):
            return
        _, status, usage = os.wait4(pid, 0)
        sweep()
        host.send(json.dumps([status, usage.ru_utime + usage.ru_stime]).encode())


def watch(host: socket.socket, pid: int) -> bool:
    """Wait until the child has ended, by itself or at the host's word. False: the host is gone."""
    exited = os.pidfd_open(pid)
    try:
        while True:
            ready, _, _ = select.select([exited, host.fileno()], [], [])
            if exited in ready:
                return True
            if not host.recv(16):
                return False
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(exited)


def sweep() -> None:
    """End whatever else lives in the namespace."""
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.wait()
    except (ProcessLookupError, ChildProcessError):
        return


class Child:
    """A process for one program, or for one program's tests. It ends in `end`."""

    def __init__(
        self, job: dict, files: list[int], sources: dict, confine: Callable[[], None], baseline: int
    ):
        self.job = job
        self.limit: int = job["max_message"]
        # Out of the way of the numbers that they are to have.
        source, output, *channels = [fcntl.fcntl(file, fcntl.F_DUPFD, 100) for file in files]
        with open(source, "rb", closefd=False) as reader:
            self.parts: list[str] = json.loads(reader.read())
        nothing = os.open("/dev/null", os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing if job["role"] == "tests" else output, 1)
        os.dup2(nothing, 2)
        for number, file in zip((CONTROL, INCOMING, OUTGOING), channels, strict=False):
            os.dup2(file, number)
        os.closerange(CONTROL + len(channels), 200)
        self.exchange = sources["exchange"]["exchange"]
        if "calc" in job["libraries"]:
            sys.modules["calc"] = self.library(sources["calc"])
        limit(baseline + (job["memory_mb"] << 20), job["cpu_seconds"])
        confine()
        os.write(CONTROL, STARTED)

    def run(self) -> None:
        random.seed(0)
        main_module = types.ModuleType("__main__")
        sys.modules["__main__"] = main_module
        namespace = main_module.__dict__
        namespace["__builtins__"] = builtins
        sys.argv = [""]
        # Taken before the program runs: it may rebind names in any module, which harms itself alone.
        _, serve, _ = self.exchange()
        if self.job["role"] == "tests":
            namespace.update(exchange=self.exchange, _turncoat_call=self.call)
        try:
            codes = [compile(part, "<program>", "exec", dont_inherit=True) for part in self.parts]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last: nested too deeply
            self.end("syntax", type(error).__name__)
        try:
            for code in codes:
                exec(code, namespace)
            sys.stdout.flush()
            if self.job["role"] == "candidate":
                self.report("loaded")
                self.serve(namespace, serve)
        except MemoryError:
            self.end("memory", "MemoryError")
        except BaseException as error:
            self.end("raised", type(error).__name__)
        self.end("ok")

    def library(self, source: dict) -> types.ModuleType:
        """`calc`, whose functions tell the host about every call."""
        module = types.ModuleType("calc")

        def counted(index: int, name: str):
            function, note = source[name], str(index).encode()

            def call(a, b):
                os.write(CONTROL, note)
                return function(a, b)

            call.__name__ = call.__qualname__ = name
            return call

        for index, name in enumerate(source["FUNCTIONS"]):
            setattr(module, name, counted(index, name))
        return module

    def serve(self, namespace: dict, serve) -> None:
        """The program's side of a check: answer the tests' calls, until there are no more."""
        while True:
            try:
                name, arguments = read(INCOMING, self.limit), read(INCOMING, self.limit)
            except EOFError:
                return
            reply = serve(lambda *args, name=name, **kwargs: namespace[name](*args, **kwargs), arguments)
            sys.stdout.flush()
            if len(reply) > self.limit:
                self.end("output", f"a result of more than {self.limit} characters")
            write(OUTGOING, reply)

    def call(self, name: str, arguments: str) -> str:
        """The tests' side: have the program call its function `name`. Note 0 is the candidate."""
        os.write(CONTROL, b"0" if name == self.job["entry_point"] else b"1")
        write(OUTGOING, name)
        write(OUTGOING, arguments)
        return read(INCOMING, self.limit)

    def report(self, status: str, detail: str = "") -> None:
        os.write(CONTROL, json.dumps({"status": status, "detail": detail[:200]}).encode() + b"\n")

    def end(self, status: str, detail: str = "") -> NoReturn:
        try:
            sys.stdout.flush()
        finally:
            self.report(status, detail)
            os._exit(0)


def limit(memory: int, cpu_seconds: float) -> None:
    """Limits of this process; memory: bytes of address space. Root becomes nobody first."""
    seconds = math.ceil(cpu_seconds)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    for kind, value in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_SIGPENDING, 64),
    ):
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def address_space() -> int:
    """Bytes of address space in use. There is no /proc: find the smallest limit that lets a page in."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 42 if hard == resource.RLIM_INFINITY else hard
    while high - low > 1 << 20:
        middle = (low + high) // 2
        resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
        try:
            mmap.mmap(-1, mmap.PAGESIZE).close()
            high = middle
        except (OSError, MemoryError):
            low = middle
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return high


class Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def confine(libc: ctypes.CDLL, program: Filter) -> None:
    """No new privileges, and the system-call filter."""
    # PR_SET_NO_NEW_PRIVS, then PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "cannot install the system-call filter")


def read(file: int, limit: int) -> str:
    """One message of at most `limit` ASCII characters. Raises EOFError when the other side is gone."""
    size = int.from_bytes(read_bytes(file, 4), "big")
    if size > limit:
        raise ValueError("message too long")
    return read_bytes(file, size).decode("ascii")


def read_bytes(file: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(file, min(size, 1 << 16))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def write(file: int, text: str) -> None:
    data = memoryview(len(text).to_bytes(4, "big") + text.encode("ascii"))
    while data:
        data = data[os.write(file, data) :]


if __name__ == "__main__":
    main()
