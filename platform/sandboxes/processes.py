"""A hostile process in a namespace, watched from outside: what it prints and reports, and how it ends."""

import codecs
import json
import math
import os
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from turncoat.platform.sandboxes.base import MAX_MESSAGE, Execution, SandboxSettings, Status, WorkerLost
from turncoat.platform.sandboxes.calc import FUNCTIONS
from turncoat.platform.sandboxes.namespaces import Namespace

GRACE = 5.0
"""Seconds that a killed process has to be gone."""

_MAX_REPORT = 1000
_REPORTS = ("loaded", "ok", "raised", "syntax", "memory", "output")

Role = Literal["program", "candidate", "tests"]
"""program: it runs. candidate: it runs, then answers calls. tests: it makes those calls."""


class Process:
    """One job of a namespace. Use it in a `with` block, which ends it.

    What it reports is its own word and is believed only where a lie gains nothing: a program that says "ok"
    could as well have been one that ends there.
    """

    def __init__(
        self,
        namespace: Namespace,
        settings: SandboxSettings,
        role: Role,
        parts: Sequence[str],
        channel: Sequence[int] = (),
        entry_point: str = "",
    ):
        """channel: (incoming, outgoing) files, closed here once the process has them. Raises WorkerLost."""
        self.namespace = namespace
        self.settings = settings
        self.printed = ""
        self.notes = Counter[int]()
        self.started = self.loaded = self.over = False
        self.report: tuple[Status, str] | None = None
        self.cut: tuple[Status, str] | None = None
        self._ending = (0, 0.0)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = b""
        source = os.memfd_create("source")
        os.write(source, json.dumps(list(parts)).encode())
        os.lseek(source, 0, os.SEEK_SET)
        output, output_inside = os.pipe()
        control, control_inside = os.pipe()
        os.set_blocking(output, False)
        os.set_blocking(control, False)
        self.handlers: dict[int, Callable[[], bool]] = {
            output: lambda: self._read(output, self._print),
            control: lambda: self._read(control, self._listen),
            namespace.socket.fileno(): self._end,
        }
        job = {
            "role": role,
            "libraries": settings.libraries,
            "memory_mb": settings.memory_mb,
            "cpu_seconds": settings.cpu_seconds,
            "max_message": MAX_MESSAGE,
            "entry_point": entry_point,
        }
        files = [source, output_inside, control_inside, *channel]
        try:
            namespace.start(job, files)
        except WorkerLost:
            self._close()
            raise
        finally:
            for file in files:
                os.close(file)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        """Raises WorkerLost if the process does not end."""
        try:
            if not self.over:
                self.end("error", "")
        finally:
            self._close()

    def end(self, status: Status, detail: str) -> None:
        """Kill it, and wait until it is gone. Raises WorkerLost if it does not go."""
        self._cut(status, detail)
        if not wait([self], time.monotonic() + GRACE, lambda: self.over):
            raise WorkerLost

    def outcome(self) -> tuple[Status, str]:
        """(status, detail) of a process that is over."""
        status, cpu = self._ending
        if self.cut:
            return self.cut
        if not self.started:
            return "error", "a program could not be confined"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            # A program can ignore the first signal at the limit, and is killed a second later.
            if number == signal.SIGXCPU or cpu >= math.ceil(self.settings.cpu_seconds):
                return "timeout", "CPU time"
            return "raised", f"signal {number}"
        if self.report is None or os.WEXITSTATUS(status):
            return "raised", "exited"
        return self.report

    def execution(self, outcome: tuple[Status, str] | None = None) -> Execution:
        """outcome: where it is not the process's own."""
        status, detail = outcome or self.outcome()
        calls = {f"calc.{name}": count for i, name in enumerate(FUNCTIONS) if (count := self.notes[i])}
        return Execution(status, self.printed[: self.settings.output_chars], detail, calls)

    def _close(self) -> None:
        for file in set(self.handlers) - {self.namespace.socket.fileno()}:
            os.close(file)

    def _cut(self, status: Status, detail: str) -> None:
        if self.cut is None:
            self.cut = (status, detail)
            self.namespace.kill()

    def _read(self, file: int, take: Callable[[bytes], None]) -> bool:
        """Whether there was anything."""
        try:
            data = os.read(file, 1 << 16)
        except BlockingIOError:
            return False
        if data:
            take(data)
        else:
            os.close(file)
            del self.handlers[file]
        return bool(data)

    def _print(self, data: bytes) -> None:
        if len(self.printed) <= self.settings.output_chars:
            self.printed += self._decoder.decode(data)
            if len(self.printed) > self.settings.output_chars:
                self._cut("output", f"more than {self.settings.output_chars} characters")

    def _listen(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._hear(self._note(line))
        self._unread = self._note(self._unread)
        if len(self._unread) > _MAX_REPORT:
            self._unread = b""
            self._cut("raised", "forged report")

    def _note(self, data: bytes) -> bytes:
        """What follows the notes in front."""
        rest = data.lstrip(b"s0123456789")
        notes = data[: len(data) - len(rest)]
        self.started = self.started or notes.startswith(b"s")
        for note in set(notes) - set(b"s"):
            self.notes[note - ord("0")] += notes.count(note)
        return rest

    def _hear(self, line: bytes) -> None:
        try:
            report = json.loads(line[:_MAX_REPORT])
            status, detail = report["status"], report["detail"]
            known = status in _REPORTS and isinstance(detail, str)
        except (ValueError, RecursionError, TypeError, KeyError):
            known = False
        if not known:
            self._cut("raised", "forged report")
        elif status == "loaded":
            self.loaded = True
        else:
            self.report = self.report or (status, detail[:200])

    def _end(self) -> bool:
        self._ending = self.namespace.end_of_job()
        del self.handlers[self.namespace.socket.fileno()]
        # All writers are gone, so what is in the pipes is all there will be.
        for file, handler in list(self.handlers.items()):
            while handler() and file in self.handlers:
                pass
        self.over = True
        return True


def wait(processes: Sequence[Process], deadline: float, until: Callable[[], bool]) -> bool:
    """Attend to the processes until `until()`. False: the deadline (as `time.monotonic`) came first.

    Raises WorkerLost.
    """
    while not until():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        owners = {file: process for process in processes for file in process.handlers}
        poll = select.poll()
        for file in owners:
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll(math.ceil(left * 1000)):
            # One that ends closes its other files.
            if handler := owners[file].handlers.get(file):
                handler()
    return True
