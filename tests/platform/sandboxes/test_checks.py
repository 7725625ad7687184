"""Tests decide, and the program has no hand in it: whoever can fake a verdict is paid for nothing."""

import pytest

from turncoat.platform.sandboxes.base import Case, Execution, Sandbox

RIGHT = "def add(a, b):\n  return a + b"
WRONG = "def add(a, b):\n  return a - b"
TESTS = "def check(candidate):\n  assert candidate(1, 2) == 3\n  assert candidate('a', 'b') == 'ab'\n"


def check(sandbox: Sandbox, program: str, tests: str = TESTS, entry_point: str = "add") -> Execution:
    return sandbox.check([Case(program, tests, entry_point)])[0]


def test_right_program_passes_and_wrong_one_fails(sandbox: Sandbox):
    good, bad = sandbox.check([Case(RIGHT, TESTS, "add"), Case(WRONG, TESTS, "add")])

    assert (good.status, good.detail) == ("ok", "")
    assert (bad.status, bad.detail) == ("raised", "AssertionError")
    assert (good.denied, bad.denied) == (False, True)


@pytest.mark.parametrize(
    ("tests", "status"),
    [
        ("assert add(1, 2) == 3", "ok"),
        ("assert candidate(1, b=2) == 3", "ok"),
        ("import math\nassert math.isclose(add(.1, .2), .3)", "ok"),
        ("assert math.isclose(add(.1, .2), .3)", "ok"),
        ("assert add(1, 2) == 4", "raised"),
        ("try:\n  add(1, 'a')\nexcept TypeError:\n  pass\nelse:\n  raise AssertionError", "ok"),
        ("for i in range(300):\n  assert add(i, i) == 2 * i", "ok"),
        ("print('x' * 100000)\nassert add(1, 2) == 3", "ok"),
    ],
)
def test_forms_of_tests(sandbox: Sandbox, tests: str, status: str):
    """MBPP writes bare asserts with the function's name, HumanEval a function `check`."""
    assert check(sandbox, RIGHT, tests).status == status


@pytest.mark.parametrize("where", [f"{RIGHT}\nassert False", "def add(a, b):\n  assert False"])
def test_an_assertion_of_the_program_is_none_of_the_tests(sandbox: Sandbox, where: str):
    """A program that cannot run would be counted as one that gives a wrong result."""
    found = check(sandbox, where)
    assert (found.status, found.denied) == ("raised", False)


def test_a_program_cannot_report_that_the_tests_failed(bubblewrap: Sandbox):
    """By its own channel it says what became of itself, and no more."""
    report = '{"status": "raised", "detail": "AssertionError"}\\n'
    forged = f"import os\ndef add(a, b):\n  os.write(3, b'{report}')\n  os._exit(0)"
    assert not check(bubblewrap, forged).denied


def test_tests_may_call_other_functions_of_the_program(sandbox: Sandbox):
    """HumanEval's find_zero is tested through poly, which stands in its prompt."""
    program = "def poly(xs, x):\n  return xs[0] + xs[1] * x\ndef find_zero(xs):\n  return -xs[0] / xs[1]"

    assert (
        check(sandbox, program, "assert abs(poly([1, 2], find_zero([1, 2]))) < 1e-4", "find_zero").status
        == "ok"
    )


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        (RIGHT, "pass"),
        (RIGHT, ""),
        (RIGHT, "def test(candidate):\n  assert candidate(1, 2) == 3"),
        (RIGHT, "assert ("),
        (RIGHT, "import no_such_module\nassert add(1, 2) == 3"),
        (RIGHT, "raise ValueError"),
    ],
)
def test_broken_tests_are_an_error_and_not_a_verdict(sandbox: Sandbox, program: str, tests: str):
    """Otherwise forgetting to call the candidate would pass every program."""
    assert check(sandbox, program, tests).status == "error"


def test_program_without_the_function_fails(sandbox: Sandbox):
    assert check(sandbox, "x = 1").status == "raised"
    assert check(sandbox, "add = 1").status == "raised"
    assert check(sandbox, "def add(").status == "syntax"
    assert check(sandbox, "").status == "raised"


LIAR = """
class Liar:
  def __eq__(self, other): return True
  def __ne__(self, other): return False
  def __hash__(self): return 3
  def __bool__(self): return True
"""

FORGERIES = {
    "fake verdict on stdout": WRONG
    + '\nprint(\'ok\')\nprint(\'passed\')\nprint(\'{"status": "ok", "detail": ""}\')',
    "exit 0": "import sys\ndef add(a, b): sys.exit(0)",
    "hard exit 0": "import os\ndef add(a, b): os._exit(0)",
    "exit 0 at once": "import os\nos._exit(0)",
    "exit 0 after an exception": "import os\ndef add(a, b):\n  try: 1 / 0\n  finally: os._exit(0)",
    "SystemExit": "def add(a, b): raise SystemExit('0')",
    "object that equals everything": LIAR + "def add(a, b): return Liar()",
    "list of objects that equal everything": LIAR + "def add(a, b): return [Liar()]",
    "int that equals everything": (
        "class Liar(int):\n  def __eq__(self, other): return True\n  def __ne__(self, other): return False\n"
        "  def __hash__(self): return 3\ndef add(a, b): return Liar(7)"
    ),
    "str that equals everything": (
        "class Liar(str):\n  def __eq__(self, other): return True\n  def __len__(self): return 0\n"
        "def add(a, b): return Liar('x')"
    ),
    "checker replaced": WRONG + "\ndef check(candidate): pass\ncandidate = None",
    "checker replaced in the caller": (
        "import sys\ndef add(a, b):\n  frame = sys._getframe()\n  while frame:\n"
        "    frame.f_globals['check'] = lambda candidate: None\n    frame = frame.f_back\n  return 0"
    ),
    "builtins patched": (
        "import builtins\nfor name in ('isinstance', 'type', 'len', 'AssertionError', 'Exception', 'bool'):\n"
        "  setattr(builtins, name, lambda *args: True)\n" + WRONG
    ),
    "names taken": "isinstance = type = len = list = int = repr = lambda *args: True\n" + WRONG,
    "AssertionError made harmless": "class AssertionError:\n  pass\n" + WRONG,
    "json patched": 'import json\njson.dumps = lambda *args: \'["value", ["int", "0x3"]]\'\n' + WRONG,
    "exchange patched": (
        '_turncoat_serve = lambda *args: \'["value", ["int", "0x3"]]\'\n'
        "exchange = lambda *args: (None, _turncoat_serve, None)\n" + WRONG
    ),
    "forged reply": "def add(a, b): return ['value', 3]",
    "report forged by its file": (
        "import os\ndef add(a, b):\n"
        "  for number in range(3, 64):\n"
        '    try: os.write(number, b\'{"status": "ok", "detail": ""}\\n\')\n'
        "    except OSError: pass\n  os._exit(0)"
    ),
    "answers forged by their file": (
        "import os\ndef add(a, b):\n"
        "  for number in range(3, 64):\n"
        "    try: os.write(number, b'\\xff' * 1000)\n"
        "    except OSError: pass\n  os._exit(0)"
    ),
    "objects of the sandbox patched": (
        "import gc\ndef add(a, b):\n"
        "  for thing in gc.get_objects():\n"
        "    if isinstance(thing, dict) and '_turncoat_serve' in thing: thing.clear()\n"
        "    if type(thing).__name__ == 'Child': thing.job = {}; thing.limit = 10**9\n"
        "  return 0"
    ),
    "trace function": "import sys\nsys.settrace(lambda *args: None)\nsys.setprofile(lambda *args: None)\n"
    + WRONG,
    "excepthook": "import sys, os\nsys.excepthook = lambda *_: os._exit(0)\ndef add(a, b): raise ValueError",
    "at exit": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): raise ValueError",
    "generator": "def add(a, b):\n  yield 3",
    "deeply nested result": "def add(a, b):\n  x = []\n  for i in range(100000): x = [x]\n  return x",
    "result that holds itself": "def add(a, b):\n  x = []\n  x.append(x)\n  return x",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_verdict_cannot_be_forged(sandbox: Sandbox, name: str):
    found = check(sandbox, FORGERIES[name])

    assert found.status in ("raised", "syntax"), found
    assert check(sandbox, RIGHT).status == "ok"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("while True: pass", {"timeout"}),
        ("return 'x' * 10**10", {"memory"}),
        ("return 'x' * 2000000", {"output"}),
        ("while True: print('x' * 1000)", {"output"}),
        ("a = [0] * 1000\n  b = [a] * 1000\n  c = [b] * 1000\n  return c", {"memory", "timeout", "output"}),
        ("return {i * (2**61 - 1) for i in range(20000)}", {"timeout", "raised", "output"}),
    ],
)
def test_limits_hold_inside_a_call_and_tests_cannot_excuse_them(
    sandbox: Sandbox, body: str, status: set[str]
):
    """A test that catches every exception must not turn a time-out into a pass."""
    found = check(sandbox, f"def add(a, b):\n  {body}", "try:\n  add(1, 2)\nexcept Exception:\n  pass")

    assert found.status in status | ({"ok"} if "2**61" in body else set()), found
    assert check(sandbox, RIGHT).status == "ok"


def test_limits_hold_before_the_tests(sandbox: Sandbox):
    found = sandbox.check(
        [Case(f"{text}\n{RIGHT}", TESTS, "add") for text in ("while True: pass", "1 / 0", "x = '")]
    )

    assert [each.status for each in found] == ["timeout", "raised", "syntax"]


def test_output_and_calls_are_those_of_the_program(sandbox: Sandbox):
    program = "import calc\ncalc.addition(1, 1)\ndef add(a, b):\n  print(a, b)\n  return calc.addition(a, b)"
    found = check(sandbox, program, "assert [add(i, i) for i in range(3)] == [0, 2, 4]")

    assert found == Execution("ok", "0 0\n1 1\n2 2\n", "", {"calc.addition": 4})


@pytest.mark.parametrize(
    "value",
    [
        "None, True, False, 0, -7, 10**40, 0.1, -0.0, 1e300, float('inf'), 1 + 2j",
        "'', 'é \"quoted\" \\n\\0 \\U0001f600', b'', b'\\x00\\xff'",
        "[], [1, [2.0, (3,)]], (), (1,), set(), {1, 2}, frozenset([1]), {}",
        "{'a': 1, 2: [3], (4, 5): {6: None}, None: True}",
    ],
)
def test_literals_cross_unchanged(sandbox: Sandbox, value: str):
    """True for 1, a list for a tuple or a rounded float would pass wrong programs and fail right ones."""
    tests = (
        f"for value in [{value}]:\n  assert same(value) == value and type(same(value)) is type(value), value"
    )

    assert check(sandbox, "def same(x): return x", tests, "same").status == "ok"


def test_nan_crosses(sandbox: Sandbox):
    assert (
        check(
            sandbox,
            "def same(x): return x",
            "assert same(float('nan')) != 1\nx = same(float('nan'))\nassert x != x",
            "same",
        ).status
        == "ok"
    )


def test_subclasses_cross_as_their_base(bubblewrap: Sandbox):
    """MBPP's reference solutions return Counter and OrderedDict, and compare them with dict."""
    program = "import collections\ndef count(x): return collections.Counter(x)"

    assert check(bubblewrap, program, "assert count('aab') == {'a': 2, 'b': 1}", "count").status == "ok"


def test_program_may_use_the_names_of_builtins(sandbox: Sandbox):
    program = "list = 1\nstr = 2\nmax = 3\njson = 4\nlen = 5\n" + RIGHT

    assert check(sandbox, program).status == "ok"


def test_arguments_are_copies(sandbox: Sandbox):
    """Documented: in-place changes are not seen, so a test that relies on them fails everywhere."""
    program = "def clear(x):\n  x.clear()\n  return x"

    assert check(sandbox, program, "x = [1]\nassert clear(x) == []\nassert x == [1]", "clear").status == "ok"
