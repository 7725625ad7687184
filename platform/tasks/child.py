"""A helper process that the kernel kills at its limits, for work on a peer's text that may never end.

This module holds both ends. The parent's is `LimitedChild`; the child is a script that answers the questions
of `Questions`, each within a `cpu_limit`. Both speak JSON, one line each way.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

MEMORY_BYTES = 2 << 30


class LimitedChild:
    """Holds the child process, and starts it when it is needed. Threads may share one."""

    def __init__(self, script: str, *arguments: str, environment: Mapping[str, str] | None = None):
        """script: path of the child's Python file. environment: variables beyond this process's own."""
        self.script, self.arguments = script, arguments
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()

    def ask(self, question: Any) -> Any:
        """The child's answer, or None if it failed or met a limit; the next question starts another."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.process = self._start()
            assert self.process.stdin
            assert self.process.stdout
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            reply = self.process.stdout.readline()
            if not reply:
                self.close()
            return json.loads(reply) if reply else None

    def close(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _start(self) -> subprocess.Popen[str]:
        # -P: the script's own folder must not be searched for modules.
        child = subprocess.Popen(
            [sys.executable, "-P", self.script, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        assert child.stdout
        if child.stdout.readline() != "ready\n":
            raise RuntimeError(f"{self.script} did not start, exit code {child.wait()}")
        return child


class Questions:
    """The child's side: iterate over the questions, `reply` to each. Takes stdout for itself."""

    def __init__(self) -> None:
        import resource
        import signal

        self.replies = os.fdopen(os.dup(1), "w")
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):  # parsers print their complaints about bad input
            os.dup2(silence, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # no handler: the kernel itself ends this process

    def __iter__(self) -> Iterator[Any]:
        print("ready", file=self.replies, flush=True)
        for line in sys.stdin:
            yield json.loads(line)

    def reply(self, answer: Any) -> None:
        print(json.dumps(answer), file=self.replies, flush=True)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End this process when the block takes more processor time, so that a busy machine decides nothing.

    A Python signal handler would work in a main thread only, and could not interrupt a long computation in C.
    """
    import signal

    signal.setitimer(signal.ITIMER_PROF, seconds)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
