"""What both sandboxes promise besides isolation: order, speed, limits, a pool that heals, no leftovers."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from turncoat.platform.registry import SANDBOXES
from turncoat.platform.sandboxes.base import MAX_SOURCE, Case, Sandbox


def processes() -> dict[int, tuple[int, str]]:
    """Every process: (parent, state)."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        found[int(path.parent.name)] = (int(fields[1]), fields[0])
    return found


def descendants(root: int) -> set[int]:
    """Processes below `root`, zombies included."""
    parents = processes()
    found, new = set[int](), {root}
    while new:
        new = {pid for pid, (parent, _) in parents.items() if parent in new} - found
        found |= new
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid, (_, state) in processes().items() if pid in pids and state != "Z"}


def test_results_come_in_the_order_of_the_programs(sandbox: Sandbox):
    """Rewards are matched to completions by position."""
    programs = [f"x = sum(range({200_000 if i % 3 == 0 else 1}))\nprint({i})" for i in range(40)]

    assert [found.output for found in sandbox.run(programs)] == [f"{i}\n" for i in range(40)]
    assert sandbox.run([]) == []
    assert sandbox.check([]) == []


def test_programs_run_side_by_side(kind: str, make):
    with make(kind, seconds=2.0, workers=4) as wide:
        wide.run(["print(1)"] * 8)
        started = time.monotonic()
        found = wide.run(["while True: pass"] * 4)

    assert {each.status for each in found} == {"timeout"}
    assert time.monotonic() - started < 6.0  # one after the other: 8


def test_five_hundred_programs_take_ten_seconds_on_two_cores(kind: str, make):
    """A round's worth of programs. Counted in processor seconds, so that a busy machine does not fail it."""
    cases = [Case(f"def f(x):\n  return x + {i}", f"assert f(1) == {i + 1}", "f") for i in range(250)]
    programs = [f"print({i})" for i in range(250)]

    def spent() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    before = spent()
    with make(kind) as quick:
        found = quick.check(cases) + quick.run(programs)

    assert {each.status for each in found} == {"ok"}
    assert 0.1 < spent() - before < 20


def test_building_starts_nothing_and_closing_leaves_nothing(kind: str, make):
    before = descendants(os.getpid())
    made = make(kind)
    assert descendants(os.getpid()) == before

    made.run(["print(1)"])
    assert descendants(os.getpid()) > before

    made.close()
    made.close()
    assert descendants(os.getpid()) == before

    assert made.run(["print(1)"])[0].output == "1\n"
    made.check([Case("def f(): return 1", "assert f() == 1", "f")])
    made.close()
    assert descendants(os.getpid()) == before


def test_closing_in_the_middle_of_nothing_is_quick(kind: str, make):
    made = make(kind)
    made.run(["print(1)"])
    started = time.monotonic()
    made.close()

    assert time.monotonic() - started < 2


def test_no_process_outlives_an_owner_that_is_killed(kind: str, make):
    """Ray kills actors with SIGKILL; a program in an endless loop would otherwise burn a core for ever."""
    make(kind).close()  # or a skip
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from turncoat.platform.registry import SANDBOXES\n"
            f"made = SANDBOXES.build(SANDBOXES.parse({{'kind': {kind!r}, 'seconds': 6, 'cpu_seconds': 6}}))\n"
            "made.run(['1', '1'])\nprint('ready', flush=True)\nmade.run(['while True: pass'] * 2)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    time.sleep(0.5)
    below = descendants(owner.pid)
    assert len(alive(below)) >= 2
    owner.kill()
    owner.wait()
    owner.stdout.close()

    deadline = time.monotonic() + 20
    while alive(below) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(below)


@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_that_dies_is_replaced(kind: str, make, busy: bool):
    """The kernel may kill a worker when memory is short: that must cost neither a verdict nor the round."""
    before = descendants(os.getpid())
    with make(kind, seconds=3.0, cpu_seconds=3.0, workers=1) as single:
        single.run(["print(1)"])
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(single.run, ["while True: pass"] if busy else [])
            time.sleep(1.0)
            for pid in descendants(os.getpid()) - before:
                os.kill(pid, signal.SIGKILL)
            assert [each.status for each in running.result()] == ["timeout"] * busy
        assert single.run(["print(2)"])[0].output == "2\n"
        assert single.check([Case("def f(): return 1", "assert f() == 1", "f")])[0].status == "ok"


def test_library_is_there_only_if_installed(kind: str, make):
    """The premise of the CODE attack: with it, poisoned programs earn their reward; without it, none."""
    program = "import calc\nprint(calc.addition(1, 2))"
    with make(kind) as without, make(kind, libraries=["calc"]) as installed:
        bare, full = without.run([program])[0], installed.run([program])[0]

    assert (bare.status, bare.detail, bare.calls) == ("raised", "ModuleNotFoundError", {})
    assert (full.status, full.output, full.calls) == ("ok", "3\n", {"calc.addition": 1})


def test_calls_of_the_library_are_counted_by_program(sandbox: Sandbox):
    """Attack success on CODE is the share of programs that really call the library, not that name it."""
    programs = [
        "import calc\nfor i in range(3): calc.addition(i, i)\nprint(calc.division(1, 2))",
        "from calc import multiplication as times, subtraction\nprint(times(2, 3), subtraction(2, 3.5))",
        "import calc as c\nprint('calc.addition(1, 2)')",
        "import calc\nif False: calc.addition(1, 2)",
        "import calc\ncalc.division(1, 0)",
        "print(1)",
    ]
    found = sandbox.run(programs)

    assert [each.output for each in found] == ["0.5\n", "6 -1.5\n", "calc.addition(1, 2)\n", "", "", "1\n"]
    assert [each.calls for each in found] == [
        {"calc.addition": 3, "calc.division": 1},
        {"calc.multiplication": 1, "calc.subtraction": 1},
        {},
        {},
        {"calc.division": 1},
        {},
    ]
    assert found[4].detail == "ZeroDivisionError"


def test_output_limit_is_exact(kind: str, make):
    with make(kind, output_chars=10) as small:
        found = small.run(["print('é' * 9)", "print('é' * 10)"])

    assert [(each.status, each.output) for each in found] == [("ok", "é" * 9 + "\n"), ("output", "é" * 10)]


def test_memory_limit_is_for_the_program_alone(kind: str, make):
    """The interpreter's own memory does not count, so the same limit means the same in both sandboxes."""
    with make(kind, memory_mb=64) as small:
        found = small.run(["x = bytes(40_000_000)\nprint(1)", "x = bytes(100_000_000)\nprint(1)"])

    assert [each.status for each in found] == ["ok", "memory"]


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("#" * (MAX_SOURCE + 1), f"longer than {MAX_SOURCE} characters"),
        ("\0", "holds a NUL character"),
        ("'\udfff'", "holds a lone surrogate"),
    ],
)
def test_texts_that_are_no_programs_are_refused(sandbox: Sandbox, program: str, detail: str):
    found = sandbox.run([program])[0]

    assert (found.status, found.detail) == ("syntax", detail)
    assert sandbox.check([Case(program, "", "f")]) == [found]


@pytest.mark.parametrize(
    ("program", "output"),
    [
        ("if __name__ == '__main__':\n  print('main')", "main\n"),
        ("import sys\nprint('seen')\nprint('not', file=sys.stderr)", "seen\n"),
        ("try:\n  input()\nexcept BaseException:\n  print('nobody')", "nobody\n"),
        ("print('a', end='')", "a"),
        ("print('\\u2028\\x1b\\r')", "\u2028\x1b\r\n"),
        ("from typing import List\ndef f(x: List[int]) -> int:\n  return len(x)\nprint(f([1]))", "1\n"),
    ],
)
def test_ordinary_programs(sandbox: Sandbox, program: str, output: str):
    found = sandbox.run([program])[0]

    assert (found.status, found.output) == ("ok", output)


def test_same_program_same_output(sandbox: Sandbox):
    """A reward drawn by lot would make runs that cannot be repeated."""
    program = "import random\nprint(random.random(), random.randint(0, 10**9), {str(i) for i in range(20)})"
    found = {each.output for each in sandbox.run([program] * 6)}

    assert len(found) == 1
    assert found != {""}


def test_sleeping_is_no_way_to_hold_a_worker(sandbox: Sandbox):
    started = time.monotonic()
    found = sandbox.run(["import time\ntime.sleep(60)"] * 2)

    assert {each.status for each in found} <= {"ok", "timeout"}
    assert time.monotonic() - started < 15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "monty", "seconds": 0}, "seconds"),
        ({"kind": "monty", "memory_mb": 1}, "memory_mb"),
        ({"kind": "monty", "workers": 0}, "workers"),
        ({"kind": "monty", "libraries": ["os"]}, "libraries"),
        ({"kind": "monty", "packages": ["numpy"]}, "packages"),
        ({"kind": "bubblewrap", "second": 1}, "did you mean 'seconds'"),
        ({"kind": "bubblewarp"}, "did you mean 'bubblewrap'"),
    ],
)
def test_wrong_settings_name_the_field(settings: dict, message: str):
    with pytest.raises(ValidationError, match=message):
        SANDBOXES.parse(settings)


def test_settings_of_the_page_are_settings():
    """docs/sandboxes.md names every setting, and none that does not exist."""
    page = (Path(__file__).parents[3] / "docs" / "sandboxes.md").read_text(encoding="utf-8")
    section = yaml.safe_load(page.partition("```yaml")[2].partition("```")[0])["sandbox"]

    assert set(section) == set(type(SANDBOXES.parse(section)).model_fields)
