"""Compare answers that may be expressions, by math-verify, in a process that the kernel kills in time.

Computer algebra on a peer's text has no bound of its own: `9**9**9**9` is ten characters. So the checks run
in a child process, under limits of CPU time and memory that end it; the next check starts another. This
module holds both ends: imported it is the parent's, run as a script it is the child.
"""

import logging
import sys
from typing import cast

from turncoat.platform.tasks.answers import Verdict, check_exact, number
from turncoat.platform.tasks.child import LimitedChild, Questions, cpu_limit

MAX_CHARS = 256
"""Longer answers are wrong without a look at them, unless they are the reference itself."""

CPU_SECONDS = 2.0
"""For one comparison; usual ones take milliseconds."""


class ExpressionChecker:
    """Compares answers in a child process of its own. Threads may share one."""

    def __init__(self, cpu_seconds: float = CPU_SECONDS):
        self.child = LimitedChild(__file__, str(cpu_seconds))

    def check(self, answer: str, reference: str) -> Verdict:
        """Whether the two are equal as mathematics, or the same text.

        Two plain numbers are compared exactly, here. "error": the child failed or met its limits, or the
        reference is no mathematics.
        """
        if answer and answer == reference:
            return "right"
        if len(answer) > MAX_CHARS:
            return "wrong"
        if number(answer) is not None and number(reference) is not None:
            return check_exact(answer, reference)
        return cast(Verdict, self.child.ask([answer, reference]) or "error")

    def close(self) -> None:
        """End the child, if there is one."""
        self.child.close()


SHARED = ExpressionChecker()
"""The process's one checker: sympy's import is worth sharing."""


def serve(cpu_seconds: float) -> None:
    """The child: answer questions until the input ends or a limit kills it."""
    from math_verify import parse, verify

    logging.disable()
    questions = Questions()
    for texts in questions:
        with cpu_limit(cpu_seconds):
            # math-verify's own time-outs are Python signal handlers.
            answer, reference = (parse(f"${text}$", parsing_timeout=None) for text in texts)
            if not reference:
                verdict = "error"
            else:
                right = verify(reference, answer, timeout_seconds=None, raise_on_error=True)
                verdict = "right" if right else "wrong"
        questions.reply(verdict)


if __name__ == "__main__":
    serve(float(sys.argv[1]))
