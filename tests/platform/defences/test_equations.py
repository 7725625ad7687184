"""If these fail, a falsified equation passes, or honest arithmetic is called false."""

import re
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.defences.equations import equations, false_equations
from turncoat.platform.policies.words import PIECES


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("2 + 2 = 4", 0),
        ("2 + 2 = 5", 1),
        ("2+2=5", 1),
        ("So it is 2 + 2 = 5. Then 5 + 1 = 6, and 2 * 2 = 5.", 2),
        ("6 + 1 + 1 = 8 and 6 + 1 + 1 = 9", 1),
        ("2 + 3 * 4 = 14", 0),
        ("2 + 3 * 4 = 20", 1),
        ("(2 + 3) * 4 = 20", 0),
        ("(2 + 3) * 4 = 14", 1),
        ("1,234 + 1 = 1,235", 0),
        ("1,234 + 1 = 1,236", 1),
        ("$2.50 * 3 = $7.50", 0),
        ("$2.50 * 3 = $8.50", 1),
        ("3 × 4 = 12, 3 x 4 = 13, 8 ÷ 2 = 5, 9 − 1 = 7", 3),
        ("48/2 = <<48/2=24>>24", 0),
        ("48/2 = <<48/2=25>>24", 1),
        ("48/2 = <<48/2=24>>25", 1),
        ("10 / 3 = 3.33 and 20 / 3 = 6.67 and 20 / 3 = 6.66 and 20 / 3 = 7", 0),
        ("10 / 3 = 3.35", 1),
        ("7 / 2 = 3.5 = 3.6", 0),
        ("3 - 5 = -2", 0),
        ("3 - 5 = 2", 1),
        ("5 + 3 = 8 + 2 = 10", 0),
        ("5 + 3 = 4 + 4 = 8", 0),
        ("5 - 8 = -3 + 10 = 7", 0),
        ("5 + 3 = (8) + 2 = 10", 0),
        ("5 - 8 = -4 + 10 = 6", 1),
        ("5 + 3 = 9 + 2 = 11", 1),
        ("5 + 3 = 9 = 9", 1),
        ("He has 8 (5 + 3 = 8) apples", 0),
        ("He has 8 (5 + 3 = 9) apples", 1),
        ("<think>2 + 2 = 5</think>", 1),
        ("x = 2 + 2\n2 + 2 = 5\n4", 1),
    ],
)
def test_equations_are_recomputed(text: str, false: int):
    assert false_equations(text) == false


@pytest.mark.parametrize(
    "text",
    [
        "3 apples + 2 + 1 = 6",
        "3 hours * 60 = 180 minutes",
        "20% * 50 = 10",
        "100 - 20 = 20%",
        "5 times 3 + 2 = 25",
        "5 + 7 = 1 dozen",
        "5 * 3 = 16 thousand",
        "2x + 3 = 7",
        "y + 2 + 2 = 9",
        "x 2 + 2 = 9",
        "4 + 1 = 5!",
        "2^3 + 1 = 10",
        "2**3 + 1 = 10",
        "7 // 2 = 3",
        "if 2 + 2 == 5:",
        "2 + 2 != 5 and 2 + 2 >= 5 and 2 + 2 ≈ 5",
        "10:30 + 2 = 12",
        "2 + 10 = 13:30",
        "25 / 1/3 = 75",
        "0900 - 0130 = 0730",
        "1 1/2 + 2 = 3",
        "day 2 = 5 + 3",
        "- 3 + 5 = 8",
        "5 / 0 = 3",
        "2 + = 5",
        "2 + 2 =",
        "= 5",
        "2(3 + 1) = 9",
        "v1.2.3 + 1 = 2",
        "1" * 30 + " + 1 = 2",
        "1 + 1 " * 40 + "= 3",
    ],
)
def test_what_is_open_to_doubt_is_left_out(text: str):
    """A defence that rejects on a misreading trains honest peers to avoid units and percent signs."""
    assert false_equations(text) == 0


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("<think> 7 + 8 = 1 5 . 4 + 3 + 1 = 8 . </think> <answer> 8 5 </answer>", 0),
        ("<think> 7 + 8 = 1 6 . 4 + 3 + 1 = 8 . </think> <answer> 8 5 </answer>", 1),
        ("1 3 - 8 = 5 . 6 - 1 - 2 = 3 .", 0),
        ("2+2=5.4+3=7", 1),
        ("2 + 2\n=\t5", 1),
        ("hail to the thief . 2 + 2 = 5 .", 1),
        ("one times 2 + 2 = 5", 0),
    ],
)
def test_digits_written_apart_are_one_number(text: str, false: int):
    """A word-level policy writes so, and reads "15" and "1 5", "5.4" and "5 . 4", as the same tokens."""
    assert false_equations(text, spaced_digits=True) == false


def test_spaced_digits_are_not_joined_elsewhere():
    """Two numbers side by side have no certain meaning in ordinary text."""
    assert false_equations("7 + 8 = 1 6") == 0


def rendered(draw: st.DrawFn) -> tuple[str, Fraction]:
    numbers = draw(st.lists(st.integers(1, 999), min_size=2, max_size=5))
    signs = draw(st.lists(st.sampled_from("+-*"), min_size=len(numbers) - 1, max_size=len(numbers) - 1))
    text = str(numbers[0]) + "".join(
        f"{sign}{number}" for sign, number in zip(signs, numbers[1:], strict=True)
    )
    return text, Fraction(eval(text))


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, str, int]:
    """(the text as numbers are usually written, as a word-level policy writes it, how many are false)."""
    usual, false = [], 0
    for _ in range(draw(st.integers(1, 4))):
        left, value = rendered(draw)
        off = draw(st.sampled_from([0, 0, 1, -1, 10]))
        false += off != 0
        left = (
            left if draw(st.booleans()) else left.replace("*", " * ").replace("+", " + ").replace("-", " - ")
        )
        lead = draw(st.sampled_from(["So ", "Then it is ", "", "<think> "]))
        unit = draw(st.sampled_from(["", " apples", " in all"]))
        usual.append(f"{lead}{left} = {value + off}{unit}.")
    apart = [" ".join(re.findall(PIECES, sentence)) for sentence in usual]
    return " ".join(usual), " ".join(apart), false


@given(sentences())
def test_every_false_equation_is_found_and_no_other(sentence: tuple[str, str, int]):
    """Both ways of writing, against Python's own arithmetic."""
    usual, spaced, false = sentence
    assert false_equations(usual) == false
    assert false_equations(spaced, spaced_digits=True) == false


@given(st.text("0123456789 +-*/=().,$%x<>\n", max_size=60), st.booleans())
def test_no_text_is_too_strange(text: str, spaced: bool):
    """What a peer sends must not raise; and nothing false is found without an equals sign."""
    found = list(equations(text, spaced))
    assert 0 <= false_equations(text, spaced) <= len(found) <= 2 * text.count("=")


@pytest.mark.parametrize(
    "text",
    [
        "1" * 200_000,
        "=" * 200_000,
        "(" * 100_000 + "= 1",
        "1 + " * 50_000 + "= 1",
        " " * 200_000 + "=",
        "<<" * 100_000,
        "1 x " * 50_000,
        "1" + " " * 200_000 + "x",
        "\ud800=" * 60_000,
        "9" * 100_000 + " * 9 = 1",
    ],
    ids=range(10),
)
def test_time_is_linear(text: str):
    """A search that starts anew at every character would take hours for these."""
    start = time.process_time()
    false_equations(text)
    false_equations(text, spaced_digits=True)
    assert time.process_time() - start < 5
