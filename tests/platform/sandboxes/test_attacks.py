"""Attacks on the machine. If one gets through, a peer's completion owns whoever verifies it."""

import os
import sys
from pathlib import Path

import pytest

from turncoat.platform.sandboxes.base import MAX_SOURCE, Sandbox

SECRET = "a secret of the host"
OUTSIDE = Path("/tmp/turncoat-sandbox-escape")

# Each prints ESCAPED if it succeeds. Those that end by a limit may have that status alone.
ATTACKS = {
    "fork bomb": ("import os\nwhile True: os.fork()", {"raised"}),
    "fork bomb that goes on": (
        "import os\nfor i in range(1000):\n  try:\n    if os.fork() == 0: print('ESCAPED')\n"
        "  except BaseException: pass",
        {"ok", "raised"},
    ),
    "threads": (
        "import threading, time\n"
        "for i in range(500): threading.Thread(target=time.sleep, args=(9,)).start()\n"
        "print('ESCAPED')",
        {"raised"},
    ),
    "subprocess": (
        "import subprocess\nprint('ESCAPED', subprocess.run(['/bin/sh', '-c', 'id']))",
        {"raised"},
    ),
    "exec": (
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(\"ESCAPED\")'])",
        {"raised"},
    ),
    "memory bomb": ("x = []\nwhile True: x.append('x' * 1000000)", {"memory"}),
    "one huge string": ("x = 'x' * 10**10", {"memory"}),
    "memory bomb that catches": (
        "x = []\nwhile True:\n  try: x.append('x' * 1000000)\n  except MemoryError: pass",
        {"memory", "timeout"},
    ),
    "huge number": ("x = 9 ** 9 ** 9", {"memory", "timeout"}),
    "endless loop": ("while True: pass", {"timeout"}),
    "endless loop that catches": (
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        {"timeout"},
    ),
    "catastrophic regex": ("import re\nre.match('(a|a)*b', 'a' * 60)", {"timeout", "raised", "ok"}),
    "huge output": ("while True: print('x' * 1000)", {"output"}),
    "one huge line": ("print('x' * 30000000)", {"output"}),
    "reading /etc/passwd": ("print('ESCAPED', open('/etc/passwd').read())", {"raised"}),
    "reading the environment": ("import os\nprint(os.environ)", {"raised", "ok"}),
    "reading another process's environment": (
        "print('ESCAPED', open('/proc/1/environ', 'rb').read())",
        {"raised"},
    ),
    "writing outside": (f"open({str(OUTSIDE)!r}, 'w').write('x')\nprint('ESCAPED')", {"raised"}),
    "writing at the root": ("open('/escape', 'w').write('x')\nprint('ESCAPED')", {"raised"}),
    "deleting": ("import os\nos.remove('/usr/lib')\nprint('ESCAPED')", {"raised"}),
    "opening a socket": ("import socket\nsocket.socket()\nprint('ESCAPED')", {"raised"}),
    "fetching a page": (
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:8265')\nprint('ESCAPED')",
        {"raised"},
    ),
    "killing the parent": ("import os\nos.kill(os.getppid(), 9)\nprint('ESCAPED')", {"raised"}),
    "killing everything": ("import os\nos.kill(-1, 9)\nprint('ESCAPED')", {"raised"}),
    "killing the worker": ("import os\nos.kill(1, 9)\nprint('ESCAPED')", {"raised"}),
    "deep recursion": ("def f(n): return f(n + 1)\nf(0)", {"raised"}),
    "deep recursion without a limit": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return [f(n + 1)]\nf(0)",
        {"raised", "memory", "timeout"},
    ),
    "deep nesting": ("x = " + "(" * 40000, {"syntax", "memory"}),
    "deep operators": ("x = " + "-" * 90000 + "1", {"syntax", "memory"}),
    "deep value": (
        "x = []\nfor i in range(10**6): x = [x]\nprint(len(x))",
        {"ok", "raised", "memory", "timeout"},
    ),
    "a value that holds itself a billion times": (
        "a = [0] * 1000\nb = [a] * 1000\nc = [b] * 1000\nd = [c] * 1000\nimport calc\ncalc.addition(d, d)",
        {"raised"},
    ),
    "huge numbers for the library": (
        "import calc\nx = 2 ** 1000000\nwhile True: x = calc.multiplication(x, x)",
        {"raised"},
    ),
    "endless calls of the library": (
        "import calc\nwhile True:\n  try: calc.addition(1, 1)\n  except BaseException: pass",
        {"timeout"},
    ),
    "huge exception": ("raise ValueError('x' * 10000000)", {"raised"}),
    "exit": ("import sys\nsys.exit(0)", {"raised"}),
    "hard exit": ("import os\nos._exit(0)", {"raised"}),
    "exit 0 after an exception": ("import os\ntry:\n  1 / 0\nfinally:\n  os._exit(0)", {"raised"}),
    "crash": ("import ctypes\nctypes.string_at(0)", {"raised"}),
    "NUL": ("print('a\0b')", {"syntax"}),
    "surrogate": ("print('\ud800')", {"syntax"}),
    "printing a surrogate": ("print('\\ud800')", {"raised", "ok"}),
    "10 MB": ("#" * 10_000_000, {"syntax"}),
    "longest source": ("x = [" + "0," * (MAX_SOURCE // 2 - 5) + "]", {"ok"}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_fails_and_the_pool_still_serves(sandbox: Sandbox, name: str, monkeypatch):
    monkeypatch.setenv("TURNCOAT_SECRET", SECRET)
    program, allowed = ATTACKS[name]

    found = sandbox.run([program])[0]

    assert found.status in allowed, found
    assert "ESCAPED" not in found.output
    assert SECRET not in found.output
    assert len(found.output) <= sandbox.settings.output_chars
    assert len(found.detail) <= 300
    assert not OUTSIDE.exists()
    good = sandbox.run(["print(6 * 7)"] * 4)
    assert [(each.status, each.output) for each in good] == [("ok", "42\n")] * 4


def test_environment_of_the_host_is_not_inherited(kind: str, make, monkeypatch):
    """The workers start after the secret is set: API keys stay with whoever verifies."""
    monkeypatch.setenv("TURNCOAT_SECRET", SECRET)
    with make(kind) as fresh:
        found = fresh.run(
            ["import os\nprint(dict(os.environ))", "import os\nprint(os.getenv('TURNCOAT_SECRET'))"]
        )

    assert not any(SECRET in each.output for each in found)


def test_nothing_is_left_for_the_next_program(sandbox: Sandbox):
    """A completion that changes the interpreter would decide the reward of all that come after it."""
    poison = (
        "import builtins, json, math, sys\n"
        "for owner, name in ((builtins, 'print'), (math, 'floor'), (json, 'dumps')):\n"
        "  try: setattr(owner, name, None)\n"
        "  except BaseException: pass\n"
        "leftover = 1\n"
    )
    sandbox.run([poison] * 4)
    found = sandbox.run(["import json, math\nprint(math.floor(1.5), json.dumps([1]))", "print(leftover)"] * 2)

    assert [each.output for each in found] == ["1 [1]\n", ""] * 2


@pytest.mark.parametrize("module", ["ctypes", "_ctypes", "cffi", "mmap"])
def test_monty_imports_nothing_that_reaches_the_machine(monty: Sandbox, module: str):
    assert monty.run([f"import {module}"])[0].detail == "ModuleNotFoundError"


SYSTEM_CALLS = {
    "fork": (57, ""),
    "vfork": (58, ""),
    "clone": (56, "17, 0, 0, 0, 0"),
    "clone3": (435, "0, 0"),
    "socket": (41, "2, 1, 0"),
    "socketpair": (53, "1, 1, 0, 0"),
    "ptrace the worker": (101, "16, 1, 0, 0"),
    "read the worker's memory": (310, "1, 0, 0, 0, 0, 0"),
    "kill the worker": (62, "1, 9"),
    "limit the worker": (302, "1, 9, ctypes.byref((ctypes.c_ulong * 2)(0, 0)), 0"),
    "slow the worker": (141, "0, 1, 19"),
    "new user namespace": (272, "0x10000000"),
    "shared memory": (29, "0, 1000000, 0o1600"),
    "memory file": (319, "b'x', 0"),
    "keyring": (250, "0, -3, 0"),
    "io_uring": (425, "8, 0"),
    "bpf": (321, "0, 0, 0"),
    "second set of calls": (0x40000000 + 39, ""),
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of system calls are those of x86-64")
@pytest.mark.parametrize("name", SYSTEM_CALLS)
def test_ctypes_is_of_no_use(bubblewrap: Sandbox, name: str):
    """Full Python has ctypes, which can ask the kernel for anything."""
    number, arguments = SYSTEM_CALLS[name]
    program = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"found = libc.syscall({number}, {arguments or 0})\nprint(found, ctypes.get_errno())"
    )

    assert bubblewrap.run([program])[0].output == "-1 1\n"  # EPERM
    assert bubblewrap.run(["print(1)"])[0].output == "1\n"


def test_bubblewrap_shows_no_file_but_the_installation(bubblewrap: Sandbox):
    program = (
        "import os\n"
        "for folder in '/', '/dev', '/etc', '/root', '/home', '/tmp', '/proc', '/sys', '/var', '/run':\n"
        "  try: print(folder, *sorted(os.listdir(folder)))\n"
        "  except FileNotFoundError: pass"
    )
    found = bubblewrap.run([program])[0].output.splitlines()
    top, *others = [line.split() for line in found]
    python = Path(os.path.realpath(sys._base_executable))  # type: ignore[attr-defined]

    assert set(top[1:]) <= {"dev", "etc", "lib", "lib64", "usr", python.parts[1]}
    for folder, *names in others:
        # On the way to the installation there is nothing but the way.
        way = {"/dev": ["null", "urandom"], "/etc": ["ld.so.cache"]}.get(folder)
        assert names == (way or [python.relative_to(folder).parts[0]])


def test_bubblewrap_lets_nothing_be_written(bubblewrap: Sandbox):
    """A written file would be a channel from one completion to the next, and would fill memory."""
    program = (
        "import os\nwritten, tried = [], 0\n"
        "for folder in ('/', '/dev', '/etc', '/lib', '/usr', '/root', os.path.dirname(os.__file__)):\n"
        "  for name in ['new', 'null', 'urandom', 'os.py', 'ld.so.cache']:\n"
        "    path = os.path.join(folder, name)\n"
        "    tried += 1\n"
        "    try:\n"
        "      file = os.open(path, os.O_WRONLY | os.O_CREAT)\n"
        "      os.write(file, b'x')\n"
        "      written.append(path)\n"
        "    except OSError: pass\n"
        "print(tried, written)"
    )
    found = bubblewrap.run([program])[0]

    assert found.output.startswith("35 "), found
    assert not set(eval(found.output[3:])) - {"/dev/null", "/dev/urandom"}


def test_bubblewrap_has_the_whole_standard_library(bubblewrap: Sandbox):
    """Modules that no worker has imported yet must be readable for a program without rights."""
    found = bubblewrap.run(
        ["import xml.etree.ElementTree, zoneinfo, unicodedata, graphlib\nprint(1)", "import numpy"]
    )

    assert [(each.status, each.detail) for each in found] == [("ok", ""), ("raised", "ModuleNotFoundError")]


def test_bubblewrap_runs_programs_without_rights(bubblewrap: Sandbox):
    found = bubblewrap.run(["import os\nprint(os.getuid() != 0, os.getgid() != 0, os.getgroups())"])[0]

    assert found.output.startswith("True True")
    if os.getuid() == 0:
        assert found.output == "True True []\n"


def test_bubblewrap_children_hold_no_file_of_the_worker(bubblewrap: Sandbox):
    """The worker's socket in a child's hands would let a program answer for others."""
    program = (
        "import os\nopen_files = []\n"
        "for number in range(4096):\n"
        "  try: os.fstat(number); open_files.append(number)\n"
        "  except OSError: pass\n"
        "print(open_files)"
    )
    assert bubblewrap.run([program])[0].output == "[0, 1, 2, 3]\n"


def test_bubblewrap_survives_forged_reports(bubblewrap: Sandbox):
    """What a program writes where the worker's child reports is parsed by the host."""
    forgeries = [
        rb"b'[' * 100000",
        rb"b'[' * 900 + b'\n'",
        rb"b'{}\n' * 50000",
        rb"b'\xff\n'",
        rb"b'{\"status\": \"error\", \"detail\": \"\"}\n'",
        rb"b'{\"status\": [], \"detail\": 1}\n'",
        rb"b'null\n'",
        rb"b'\n' * 100000",
    ]
    found = bubblewrap.run(
        [f"import os, time\nos.write(3, {text.decode()})\ntime.sleep(0.2)" for text in forgeries]
    )

    assert {each.status for each in found} == {"raised"}
    assert {each.detail for each in found} == {"forged report"}


def test_bubblewrap_program_that_dies_by_an_odd_signal_harms_no_other(bubblewrap: Sandbox):
    """Real-time signals have no name: naming them must not fail the whole round."""
    program = (
        "import ctypes\nclass Event(ctypes.Structure):\n"
        "  _fields_ = (('value', ctypes.c_long), ('signal', ctypes.c_int),\n"
        "    ('kind', ctypes.c_int), ('rest', ctypes.c_char * 48))\n"
        "timer = ctypes.c_void_p()\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.timer_create(1, ctypes.byref(Event(0, 40, 0, b'')), ctypes.byref(timer))\n"
        "libc.timer_settime(timer, 0, ctypes.byref((ctypes.c_long * 4)(0, 0, 0, 1000)), 0)\n"
        "while True: pass"
    )
    found = bubblewrap.run([program, "print(1)"])

    assert (found[0].status, found[0].detail) == ("raised", "signal 40")
    assert found[1].output == "1\n"


def test_bubblewrap_counts_processor_time_even_if_the_program_will_not_hear_of_it(make):
    program = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    with make("bubblewrap", seconds=30.0, cpu_seconds=1.0) as patient:
        found = patient.run([program, "while True: pass"])

    assert [(each.status, each.detail) for each in found] == [("timeout", "CPU time")] * 2
