"""The isolating sandbox: full Python in Linux namespaces of its own, set up by `bwrap`."""

import os
import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Literal

from pydantic import Field

from turncoat.platform.sandboxes.base import Case, Execution, Sandbox, SandboxSettings
from turncoat.platform.sandboxes.namespaces import Namespace, probe
from turncoat.platform.sandboxes.processes import Process, wait
from turncoat.platform.sandboxes.stand_ins import script


class BubblewrapSandbox(Sandbox):
    """Runs programs in CPython, inside `bwrap`. Linux on x86-64 or AArch64; as root, or with user namespaces.

    A worker is process 1 of network, process, mount, IPC and host-name namespaces of its own, and forks a
    child per program. Protected: the child sees the Python installation, read-only, and no other file of the
    machine, no environment, no network, no process but itself; it can write to no file. A system-call filter
    and limits take from it new processes, threads and programs, signals, sockets, tracing, shared memory and
    namespaces. As root, the child is `nobody`. It ends at the limits of wall time, processor time (whole
    seconds, rounded up), address space and output. The tests of a check run in a namespace of their own,
    joined by a pipe.

    Not protected: a bug in the kernel. Time is real, so a busy machine makes programs time out sooner, and a
    program can tell the time and how fast it runs. A hostile program owns its process, so it can count up
    `calls` without calling, by writing what the library writes; it can not take back what was counted.
    Likewise the status "ok" of `run` says no more than that the program claims to have ended; `check` relies
    on neither.
    """

    class Settings(SandboxSettings):
        kind: Literal["bubblewrap"] = "bubblewrap"
        packages: list[str] = Field(default_factory=list)
        """Third-party packages of this installation that a program can import, dependencies included. Workers
        import them before the first program, so starts take longer and programs do not.
        """

    settings: Settings

    def __init__(self, settings: Settings):
        """Raises BadInput if `bwrap` is missing or cannot make namespaces, or a package is not installed."""
        super().__init__(settings)
        probe(tuple(settings.packages))

    def start(self) -> None:
        self._lanes: queue.SimpleQueue[_Lane] = queue.SimpleQueue()
        for _ in range(self.settings.workers):
            self._lanes.put(_Lane(tuple(self.settings.packages)))

    def stop(self) -> None:
        while not self._lanes.empty():
            self._lanes.get().close()

    def execute(self, program: str) -> Execution:
        with self._lane() as lane, Process(lane.programs(), self.settings, "program", [program]) as process:
            if not wait([process], time.monotonic() + self.settings.seconds, lambda: process.over):
                process.end("timeout", "wall time")
            return process.execution()

    def examine(self, case: Case) -> Execution:
        try:
            trusted = script(case.tests, case.entry_point)
        except SyntaxError as error:
            return Execution("error", detail=f"tests: {error.msg}")

        seconds = self.settings.seconds
        with self._lane() as lane, ExitStack() as stack:
            questions, ask = os.pipe()
            answers, answer = os.pipe()
            ends = [ask, answers]
            stack.callback(close, ends)
            program = stack.enter_context(
                Process(lane.programs(), self.settings, "candidate", [case.program], [questions, answer])
            )
            if not wait([program], time.monotonic() + seconds, lambda: program.over or program.loaded):
                program.end("timeout", "wall time")
            if program.over:
                return program.execution()
            parts = [trusted.prelude, trusted.tests]
            tests = stack.enter_context(
                Process(
                    lane.tests(), self.settings, "tests", parts, [ends.pop(), ends.pop()], case.entry_point
                )
            )
            both = [program, tests]
            in_time = wait(both, time.monotonic() + 2 * seconds, lambda: program.over or tests.over)
            # When one side ends, the other meets the end of its channel.
            if not (in_time and wait(both, time.monotonic() + seconds, lambda: program.over and tests.over)):
                for process in both:
                    if not process.over:
                        process.end("timeout", "wall time")
            if program.outcome()[0] != "ok":
                return program.execution()
            status, detail = tests.outcome()
            if status == "syntax" or (status == "raised" and not tests.notes):
                status, detail = "error", f"tests: {detail}"
            elif status == "ok" and not tests.notes[0]:
                status, detail = "error", f"the tests never called {case.entry_point!r}"
            denied = (status, detail) == ("raised", "AssertionError")
            return replace(program.execution((status, detail)), denied=denied)

    @contextmanager
    def _lane(self) -> Iterator["_Lane"]:
        lane = self._lanes.get()
        try:
            yield lane
        except BaseException:
            lane.close()  # whatever was going on in it
            raise
        finally:
            self._lanes.put(lane)


def close(files: list[int]) -> None:
    for file in files:
        os.close(file)


class _Lane:
    """One program at a time: a namespace for programs, and one for their tests, each made when first needed.

    Made in a thread that lasts as long as the sandbox, since `bwrap` dies with the thread that made it.
    """

    def __init__(self, packages: tuple[str, ...]):
        self.packages = packages
        self._namespaces: dict[str, Namespace] = {}

    def programs(self) -> Namespace:
        return self._get("programs")

    def tests(self) -> Namespace:
        return self._get("tests")

    def _get(self, role: str) -> Namespace:
        if role not in self._namespaces:
            self._namespaces[role] = Namespace(self.packages)
        return self._namespaces[role]

    def close(self) -> None:
        for namespace in self._namespaces.values():
            namespace.close()
        self._namespaces.clear()
