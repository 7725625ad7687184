"""If these fail, rewards are wrong: a right answer goes unpaid, or a hostile text is paid or hangs a peer."""

import time
from fractions import Fraction

import pytest

from turncoat.platform.tasks.answers import check_exact, number, read, write


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72", 72),
        ("72.", 72),
        (" 72 ", 72),
        ("-3", -3),
        ("+3", 3),
        ("−3", -3),
        ("1,234", 1234),
        ("1,234,567.50", Fraction(2469135, 2)),
        ("$5", 5),
        ("-$5", -5),
        ("$-5", -5),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1/2", Fraction(1, 2)),
        ("-6/4", Fraction(-3, 2)),
        ("007", 7),
        ("9" * 64, int("9" * 64)),
    ],
)
def test_numbers_are_read_exactly(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "$",
        "-",
        "7..",
        "5/0",
        "1.5/2",
        "/2",
        "12,34",
        "1,2345",
        "+-3",
        "1e999999999",
        "1e5",
        "inf",
        "nan",
        "0x10",
        "1_000",
        "٣",
        "²",
        "8 5",
        "72 apples",
        "x = 72",
        "2**9999999",
        "9" * 100_000,
        "1/" + "9" * 100_000,
        " " * 1000 + "72",
    ],
)
def test_everything_else_is_no_number(text):
    assert number(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("8 5", 85), (" - 3 . ", -3), ("1 , 2 3 4", 1234), ("1 / 2", Fraction(1, 2)), ("8\n5", 85)],
)
def test_spaced_digits_are_one_number_where_the_task_says_so(text, value):
    assert number(text, spaced_digits=True) == value


@pytest.mark.parametrize(
    ("answer", "reference", "verdict"),
    [
        ("0.5", "1/2", "right"),
        ("1234", "1,234", "right"),
        ("0.1", "1/10", "right"),
        ("0.3333333333333333", "1/3", "wrong"),
        ("71", "72", "wrong"),
        ("", "72", "wrong"),
        ("seventy-two", "72", "wrong"),
        ("72", "a reference that is no number", "error"),
    ],
)
def test_answers_are_compared_as_rationals(answer, reference, verdict):
    assert check_exact(answer, reference) == verdict


def test_the_strict_format_is_read_back():
    assert read(write("2 + 2 = 4", "4")) == ("2 + 2 = 4", "4")
    assert read(" \n<think> a </think>\n\n<answer> 4 </answer>\n") == ("a", "4")
    assert read("<think></think><answer></answer>") == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4",
        "<answer>4</answer>",
        "<think>a</think>",
        "<think>a</think><answer>4",
        "<think>a<answer>4</answer></think>",
        "<think>a</think>so<answer>4</answer>",
        "well <think>a</think><answer>4</answer>",
        "<think>a</think><answer>4</answer> done",
        "<think>a</think><answer>4</answer><answer>5</answer>",
        "<think>a</think><think>b</think><answer>4</answer>",
        "<think><think>a</think></think><answer>4</answer>",
        "<think>a</think><answer><answer>4</answer></answer>",
        "<think>a</think><answer><think>4</answer>",
        "<answer>4</answer><think>a</think>",
        "</think><think>a<answer>4</answer>",
        "<think>a</answer><answer>4</think>",
        "<THINK>a</THINK><ANSWER>4</ANSWER>",
        "<think >a</think><answer>4</answer>",
        "<think>a</think><answer>4</answer>\x00",
    ],
)
def test_any_other_format_is_refused(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "9" * 10_000_000,
        "<think>" * 1_000_000,
        "<think>" + "</think>" * 1_000_000 + "<answer>4</answer>",
        write("x" * 10_000_000, "5"),
        write("a", "9" * 10_000_000),
        write("a", " " * 10_000_000 + "5"),
        write("a", "1," * 5_000_000),
        write("a", "1e999999999"),
    ],
)
def test_hostile_text_is_judged_in_a_moment(text):
    start = time.perf_counter()
    parts = read(text)
    if parts is not None:
        check_exact(parts[1], "4")
    assert time.perf_counter() - start < 1.0
