"""If these fail, texts that differ count as alike, or the grams of one text as another's."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.defences.grams import WORD, presence


def grams_by_hand(text: str, n: int) -> set[tuple[str, ...]]:
    words = ["<start>"] * (n - 1) + WORD.findall(text.lower()) + ["<end>"]
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


@given(st.lists(st.text("ab1+ .", max_size=12), min_size=1, max_size=6), st.integers(1, 5))
def test_each_text_holds_its_own_grams(texts: list[str], n: int):
    """Sizes and overlaps are those of the sets of tuples of words."""
    found = presence(texts, n, 1000)
    sets = [set(found.gram[found.owner == i].tolist()) for i in range(len(texts))]
    true = [grams_by_hand(text, n) for text in texts]
    assert [len(one) for one in sets] == [len(one) for one in true]
    assert [[len(a & b) for b in sets] for a in sets] == [[len(a & b) for b in true] for a in true]
    assert found.owner.tolist() == sorted(found.owner.tolist())


def test_white_space_and_case_make_no_difference():
    """To a word-level policy "15" and "1 5" are the same tokens: copies must not hide behind a space."""
    found = presence(["So 15 + 3 = 18", "so 1 5 +3 =\n1 8"], 3, 1000)
    first, second = (found.gram[found.owner == i].tolist() for i in (0, 1))
    assert first == second


@pytest.mark.parametrize(
    "text", ["a " * 5_000_000, "\ud800 " * 5_000_000, "\x00" * 10_000_000, "9" * 10_000_000]
)
def test_ten_megabytes_are_read_in_bounded_time(text: str):
    """A receiver must not hang on what a peer sends."""
    start = time.process_time()
    presence([text] * 4, 5, 32 * 65)
    assert time.process_time() - start < 1
