"""If these fail, right programs earn nothing, wrong ones are rewarded, or a hostile text stalls a peer."""

import time

import pytest

from turncoat.platform.config.loading import parse
from turncoat.platform.records import Prompt
from turncoat.platform.registry import TASKS
from turncoat.platform.sandboxes.base import MAX_SOURCE, Execution
from turncoat.platform.tasks.code import CodeSettings, CodeTask

PROMPT = Prompt("rows/train/0", "How many ?", "print ( 1 2 + 3 4 )", "46")


class Rows(CodeTask):
    """A data set of one row, with ordinary Python."""

    Settings = CodeSettings

    def train(self, index: int) -> Prompt:
        return PROMPT

    def held_out(self, index: int) -> Prompt:
        return PROMPT


class SpacedRows(Rows):
    spaced_digits = True


def settings(**sandbox: object) -> CodeSettings:
    return CodeSettings.model_validate({"kind": "rows", "sandbox": sandbox})


@pytest.fixture(scope="module")
def task():
    built = Rows(settings(seconds=0.5, output_chars=2000))
    yield built
    built.sandbox.close()


@pytest.fixture(scope="module")
def spaced():
    built = SpacedRows(settings())
    yield built
    built.sandbox.close()


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("print(12 + 34)", "right"),
        ("print(46.0)", "right"),
        ("print('thinking')\nprint(46)\n\n", "right"),
        ("print(46)\nprint(47)", "wrong"),
        ("print('46 apples')", "wrong"),
        ("46", "wrong"),
        ("", "wrong"),
        ("print(46", "malformed"),
        ("print(46); 1 / 0", "malformed"),
        ("import calc; print(46)", "malformed"),
        ("while True: pass", "timeout"),
        ("print('a' * 3000); print(46)", "timeout"),
        ("x = 'a' * 10 ** 9; print(46)", "timeout"),
    ],
)
def test_a_program_is_judged_by_its_last_printed_line(task, program: str, verdict: str):
    """Each class of verdict is counted apart in the journal."""
    assert task.verify(PROMPT, program) == verdict


def test_a_failed_sandbox_or_a_bad_reference_says_nothing_about_the_completion(task, monkeypatch):
    """An error is neither a wrong answer nor a malformed one."""
    unanswered = Prompt("rows/train/0", "How many ?", "", "a few")
    assert task.verify(unanswered, "print(46)") == "error"
    broken = Rows(settings())
    monkeypatch.setattr(broken.sandbox, "run", lambda programs: [Execution("error") for _ in programs])
    assert broken.verify(PROMPT, "print(46)") == "error"


def test_expressions_are_compared_where_the_task_says_so():
    task = Rows(settings().model_copy(update={"check": "expression"}))
    half = Prompt("rows/train/0", "How much ?", "", "\\frac{1}{2}")
    assert task.verify_all([(half, "print('1/2')"), (half, "print('1/3')")]) == ["right", "wrong"]
    task.sandbox.close()


def test_a_batch_keeps_its_order_and_runs_equal_programs_once(task, monkeypatch):
    """A round's copies cost one run; a verdict that moved to its neighbour would reward the wrong peer."""
    ran: list[str] = []
    run = task.sandbox.run
    monkeypatch.setattr(task.sandbox, "run", lambda programs: (ran.extend(programs), run(programs))[1])
    texts = ["print(46)", "print(1)", "print(46)", "print(", "print(46)"]
    assert task.verify_all([(PROMPT, text) for text in texts]) == [
        "right",
        "wrong",
        "right",
        "malformed",
        "right",
    ]
    assert ran == ["print(46)", "print(1)", "print("]
    assert task.printed(texts[:4]) == ["46", "1", "46", None]
    assert task.verify_all([]) == []


def test_spaced_digits_are_joined_as_the_word_level_policies_write_them(spaced):
    """Or the bundled policy could not write a number of two digits."""
    assert spaced.program_of(" a = 1 2 / / 3 ; print ( a + 1 0 5 ) ") == "a = 12 // 3 ; print ( a + 105 )"
    assert spaced.program_of("print ( 1 , 2 , a 1 , 1 b )") == "print ( 1 , 2 , a 1 , 1 b )"
    assert spaced.verify(PROMPT, "a = 1 8 4 / / 4 ; print ( a )") == "right"
    assert spaced.verify(PROMPT, PROMPT.solution) == "right"


def test_a_fenced_block_is_the_program(task):
    """Chat models wrap their programs; a task of spaced digits takes the text as it stands."""
    assert task.program_of("Here:\n```python\nprint(46)\n```\nDone.\n```\nprint(1)\n```") == "print(46)\n"
    assert task.program_of("```\nprint(46)") == "print(46)"
    assert task.program_of("print(46)") == "print(46)"
    assert task.program_of("print('1 2')") == "print('1 2')"


def test_the_attacker_s_library_is_called_only_where_it_is_installed():
    """The CODE attack's hidden premise is a setting."""
    text = "import calc\nprint(calc.addition(12, 34))"
    with_it = Rows(settings(libraries=["calc"]))
    without = Rows(settings())
    assert with_it.verify(PROMPT, text) == "right"
    assert with_it.execute([text])[0].calls == {"calc.addition": 1}
    assert without.verify(PROMPT, text) == "malformed"
    with_it.sandbox.close()
    without.sandbox.close()


@pytest.mark.parametrize(
    "text",
    [
        "1 " * 5_000_000,
        "/ " * 5_000_000,
        "`" * 10_000_000,
        "print(46)#" + "x" * MAX_SOURCE,
        "(" * 50_000,
        "-" * 50_000 + "1",
        "[" * 200 + "]" * 200,
        "print(46)\0",
        "print(46)\ud800",
        "print(4\u0336 6)",
        "print(9 ** 9 ** 9)",
    ],
    ids=range(11),
)
def test_hostile_text_is_refused_quickly(task, spaced, text: str):
    """Any peer can send it; none of it is right, and the peer goes on."""
    for judge in (task, spaced):
        started = time.perf_counter()
        assert judge.verify(PROMPT, text) in ("malformed", "timeout", "wrong")
        assert time.perf_counter() - started < 5
        assert judge.verify(PROMPT, "print ( 46 )") == "right"


def test_the_sandbox_is_a_section_that_overrides_and_errors_know():
    """`task.sandbox.libraries=[calc]` on the command line; a wrong name is told with the right one."""
    tree = {"task": {"kind": "programs", "sandbox": {"libraries": ["calc"], "seconds": 1}}}
    tree["peers"] = {"malicious": 0}
    assert parse(tree).task.sandbox.libraries == ["calc"]
    assert parse(tree | {"task": "programs"}).task.sandbox.kind == "monty"
    tree["task"]["sandbox"] = {"kind": "montty"}
    with pytest.raises(ValueError, match=r"task\.sandbox\.kind.*did you mean 'monty'"):
        parse(tree)
    assert TASKS.settings_of("programs").model_fields["sandbox"]
