"""Compare answers that may be expressions, by math-verify, in a process that the kernel kills in time.

Computer algebra on a peer's text has no bound of its own: `9**9**9**9` is ten characters. math-verify's
time-out is a Python signal handler, which works in a main thread only and cannot interrupt a long computation
in C. So the checks run in a child process, under limits of CPU time and memory that end it; the next check
starts another. This module holds both ends: imported it is the parent's, run as a script it is the child.
"""

import json
import subprocess
import sys
import threading
from typing import cast

from turncoat.platform.tasks.answers import Verdict, check_exact, number

MAX_CHARS = 256
"""Longer answers are wrong without a look at them."""

CPU_SECONDS = 2.0
"""For one comparison; usual ones take milliseconds. CPU time, so that a busy machine decides nothing."""

MEMORY_BYTES = 2 << 30


class ExpressionChecker:
    """Holds the child process, and starts it when it is needed. Threads may share one."""

    def __init__(self, cpu_seconds: float = CPU_SECONDS):
        self.cpu_seconds = cpu_seconds
        self.child: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()

    def check(self, answer: str, reference: str) -> Verdict:
        """Whether the two are equal as mathematics.

        Two plain numbers are compared exactly, here. "error": the child failed or met its limits, or the
        reference is no mathematics.
        """
        if len(answer) > MAX_CHARS:
            return "wrong"
        if number(answer) is not None and number(reference) is not None:
            return check_exact(answer, reference)
        with self.lock:
            return self._ask([answer, reference])

    def close(self) -> None:
        """End the child, if there is one."""
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None

    def _ask(self, question: list[str]) -> Verdict:
        if self.child is None or self.child.poll() is not None:
            self.child = self._start()
        assert self.child.stdin
        assert self.child.stdout
        self.child.stdin.write(json.dumps(question) + "\n")
        self.child.stdin.flush()
        verdict = self.child.stdout.readline().strip()
        if not verdict:
            self.close()
        return cast(Verdict, verdict or "error")

    def _start(self) -> subprocess.Popen[str]:
        # -P: this script's own folder must not be searched for modules.
        child = subprocess.Popen(
            [sys.executable, "-P", __file__, str(self.cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout
        if child.stdout.readline() != "ready\n":
            raise RuntimeError(f"the checker of expressions did not start, exit code {child.wait()}")
        return child


SHARED = ExpressionChecker()
"""The process's one checker: sympy's import is worth sharing."""


def serve(cpu_seconds: float) -> None:
    """The child: answer questions, one JSON line each, until the input ends or a limit kills it."""
    import logging
    import os
    import resource
    import signal

    from math_verify import parse, verify

    replies = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # parsers print their complaints about bad input
        os.dup2(silence, stream)
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # no handler: the kernel itself ends this process
    print("ready", file=replies, flush=True)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        answer, reference = (parse(f"${text}$", parsing_timeout=None) for text in json.loads(line))
        if not reference:
            verdict = "error"
        else:
            right = verify(reference, answer, timeout_seconds=None, raise_on_error=True)
            verdict = "right" if right else "wrong"
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(verdict, file=replies, flush=True)


if __name__ == "__main__":
    serve(float(sys.argv[1]))
