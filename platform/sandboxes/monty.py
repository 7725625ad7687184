"""The embedded sandbox: a Python interpreter written in Rust that has no way out, in worker processes."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Literal

import pydantic_monty as monty

from turncoat.platform.config.errors import BadInput
from turncoat.platform.sandboxes import calc
from turncoat.platform.sandboxes.base import (
    MAX_MESSAGE,
    Case,
    Execution,
    Sandbox,
    SandboxSettings,
    Status,
    WorkerLost,
)
from turncoat.platform.sandboxes.stand_ins import CALL, script

MAX_CALLS = 100_000
"""Calls out of the interpreter in one session: of library functions, and of the candidate by its tests."""

CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
"""What every program takes for now."""

EXCHANGE = (resources.files("turncoat.platform.sandboxes") / "exchange.py").read_text(encoding="utf-8")


class MontySandbox(Sandbox):
    """Runs programs in `pydantic-monty`, an interpreter of a subset of Python. Needs no privileges.

    Protected by construction: the interpreter has no file system, network, environment, processes, threads,
    signals, ctypes or `os._exit`, and imports nothing but its own modules and `libraries`. It lives in worker
    processes that are killed at the limits and replaced. The clock stands still, `random` is seeded, and
    `sleep` returns at once, so that a program does the same in every run. `calls` is counted by the host: a
    program cannot change it but by calling.

    Not protected: a bug in the interpreter itself gives the worker's rights, which are this process's own.
    Values and messages of up to `memory_mb` cross into this process for a moment. Its limit counts wall time,
    so the smaller of `seconds` and `cpu_seconds` holds for both, and a busy machine makes programs time out
    sooner.

    Subset: no class inheritance, no third-party and few standard modules, no `sys.exit`. Programs that need
    more end as `raised`, a correct one too.
    """

    class Settings(SandboxSettings):
        kind: Literal["monty"] = "monty"

    settings: Settings

    def start(self) -> None:
        """Raises BadInput if the interpreter's program is not installed."""
        # A check holds two sessions at a time.
        try:
            pool = monty.Monty(min_processes=self.settings.workers, max_processes=2 * self.settings.workers)
        except FileNotFoundError as error:
            raise BadInput(
                "sandbox.kind: 'monty' needs the program `monty`: pip install pydantic-monty"
            ) from error
        self._pool = pool.__enter__()

    def stop(self) -> None:
        self._pool.__exit__(None, None, None)

    def execute(self, program: str) -> Execution:
        with _Session(self) as session:
            try:
                session.feed(program)
            except _Ended as ended:
                return session.execution(ended)
            return session.execution()

    def examine(self, case: Case) -> Execution:
        try:
            trusted = script(case.tests, case.entry_point)
        except SyntaxError as error:
            return Execution("error", detail=f"tests: {error.msg}")

        asked = Counter[str]()
        failure: list[_Ended | WorkerLost] = []
        with _Session(self) as session, _Session(self, quiet=True) as judge:

            def call(name: str, arguments: str) -> str:
                asked[name] += 1
                try:
                    return session.ask(name, arguments)
                except (_Ended, WorkerLost) as error:
                    failure.append(error)
                    judge.kill()
                    raise

            try:
                session.feed(f"{EXCHANGE}\n_turncoat_pack, _turncoat_serve, _turncoat_result = exchange()")
                session.feed(case.program)
            except _Ended as ended:
                return session.execution(ended)
            session.deadline = time.monotonic() + self.settings.seconds
            verdict = None
            try:
                judge.feed(EXCHANGE + trusted.prelude, {CALL: call})
                judge.feed(trusted.tests, {CALL: call})
                if not asked[case.entry_point]:
                    verdict = _Ended("error", f"the tests never called {case.entry_point!r}")
            except _Ended as ended:
                verdict = ended
                if ended.status == "syntax" or (ended.status == "raised" and not asked):
                    verdict = _Ended("error", f"tests: {ended.detail}")
            denied = verdict is not None and (verdict.status, verdict.detail) == ("raised", "AssertionError")
            # Tests may well catch an exception; they cannot undo the failure behind it.
            for failed in failure:
                if isinstance(failed, WorkerLost):
                    raise failed
                verdict, denied = failed, False
            return replace(session.execution(verdict), denied=denied)


class _Ended(Exception):
    """A session's code ended otherwise than by reaching its end."""

    def __init__(self, status: Status, detail: str):
        super().__init__(status, detail)
        self.status = status
        self.detail = detail


class _Session(AbstractContextManager["_Session"]):
    """One program's interpreter. Kills its worker where the interpreter would run on: when it has printed too
    much, or passed the wall time by calling out.
    """

    def __init__(self, sandbox: MontySandbox, quiet: bool = False):
        """quiet: what is printed is dropped."""
        settings = sandbox.settings
        self.calls = Counter[str]()
        self.deadline = time.monotonic() + settings.seconds
        self.quiet = quiet
        self.printed: list[str] = []
        self.room = settings.output_chars
        self.killed: _Ended | None = None
        self.modules = {str(name): self._library() for name in settings.libraries}
        self.settings = settings
        self.pool = sandbox._pool

    def __enter__(self) -> "_Session":
        """Raises WorkerLost."""
        # Idle workers may have been killed; the pool notices when it hands them out.
        for _ in range(2 * self.settings.workers + 1):
            checkout = self.pool.checkout(
                limits={
                    "max_feed_duration_secs": min(self.settings.seconds, self.settings.cpu_seconds),
                    "max_memory": self.settings.memory_mb << 20,
                    "max_suspensions": MAX_CALLS,
                },
                external_modules=self.modules,
                os_policy={"datetime": CLOCK, "sleep": "zero", "random_start": {"seed": 0}},
                assert_message_annotations=False,
            )
            try:
                self.session = checkout.__enter__()
                self.session.feed_run("")
            except monty.MontyCrashedError:
                continue
            self.checkout = checkout
            self.pid = self.session.worker_pid
            return self
        raise WorkerLost

    def __exit__(self, *exception: Any) -> None:
        self.checkout.__exit__(*exception)

    def feed(
        self, code: str, functions: dict[str, Any] | None = None, inputs: dict[str, str] | None = None
    ) -> Any:
        """Run code. Returns the value of its last expression, made by the program: look at its type alone.

        Raises _Ended, WorkerLost.
        """
        try:
            value = self.session.feed_run(
                code, inputs=inputs, external_lookup=functions, print_callback=self._print
            )
        except monty.MontySyntaxError as error:
            raise _Ended("syntax", str(error)[:200]) from None
        except monty.MontyRuntimeError as error:
            kind = type(error.exception())
            if kind is RuntimeError and sum(self.calls.values()) >= MAX_CALLS - 1:
                raise _Ended("timeout", f"{MAX_CALLS} calls") from None
            statuses: dict[type, Status] = {TimeoutError: "timeout", MemoryError: "memory"}
            raise self.killed or _Ended(statuses.get(kind, "raised"), kind.__name__) from None
        except monty.MontyCrashedError as error:
            if error.timed_out:
                raise _Ended("timeout", "TimeoutError") from None
            raise self.killed or WorkerLost from None
        if self.killed:  # at its very end
            raise self.killed
        return value

    def ask(self, name: str, arguments: str) -> str:
        """The program's packed reply to a call of its function `name`. Raises _Ended, WorkerLost."""
        if time.monotonic() > self.deadline:
            raise _Ended("timeout", "TimeoutError")
        if len(arguments) > MAX_MESSAGE:
            raise _Ended("error", f"tests: arguments of more than {MAX_MESSAGE} characters")
        reply = self.feed(
            f"_turncoat_serve({name}, _turncoat_arguments)", inputs={"_turncoat_arguments": arguments}
        )
        if type(reply) is not str:
            raise _Ended("raised", "forged reply")
        if len(reply) > MAX_MESSAGE:
            raise _Ended("output", f"a result of more than {MAX_MESSAGE} characters")
        return reply

    def kill(self, status: Status = "error", detail: str = "") -> None:
        """End the worker in the middle of its work."""
        self.killed = self.killed or _Ended(status, detail)
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)

    def execution(self, ended: _Ended | None = None) -> Execution:
        status, detail = (ended.status, ended.detail) if ended else ("ok", "")
        return Execution(status, "".join(self.printed), detail, dict(self.calls))

    def _print(self, stream: str, text: str) -> None:
        if stream == "stdout" and self.killed is None and not self.quiet:
            self.printed.append(text[: self.room])
            self.room -= len(text)
            if self.room < 0:
                self.kill("output", f"more than {self.settings.output_chars} characters")

    def _library(self) -> monty.ExternalModule:
        def counted(name: str) -> Callable[..., float]:
            def function(a: float, b: float) -> float:
                self.calls[f"calc.{name}"] += 1
                if time.monotonic() > self.deadline:
                    self.kill("timeout", "TimeoutError")
                return getattr(calc, name)(a, b)

            return function

        return monty.ExternalModule({name: counted(name) for name in calc.FUNCTIONS})
