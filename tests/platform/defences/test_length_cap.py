"""If these fail, completions grow unseen, or a long-winded minority decides what counts as long."""

import pytest

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.defences.length_cap import LengthCap


def test_a_fixed_cap_counts_tokens(around, batch_of):
    defence = LengthCap(LengthCap.Settings(relative=False, threshold=4), around())
    scores = defence.score(batch_of((0, 0, "a b c"), (0, 1, "a b c d"), (0, 2, "")))
    assert scores.tolist() == [4, 5, 1]
    assert defence.rejects(scores).tolist() == [False, True, False]


def test_a_minority_cannot_move_the_reference(around, batch_of):
    """One peer of four that writes a hundred times as much is measured by the other three."""
    honest = [(q, p, "a " * 9) for q in range(8) for p in range(3)]
    defence = LengthCap(LengthCap.Settings(), around())
    for words in (9, 900):
        scores = defence.score(batch_of(*honest, *[(q, 3, "a " * words) for q in range(8)]))
        assert scores[0] == 1
        assert scores[3] == (words + 1) / 10


def test_the_reference_allows_for_honest_variety(around, batch_of):
    """Long questions have long answers: the reference is a high quantile, not the mean."""
    batch = batch_of(*[(q, p, "a " * (4 if q else 9)) for q in range(4) for p in range(4)])
    defence = LengthCap(LengthCap.Settings(quantile=1.0), around())
    assert not defence.rejects(defence.score(batch)).any()
    assert defence.score(batch).max() == 1


def test_a_round_of_nothing_has_a_reference(around, batch_of):
    assert LengthCap(LengthCap.Settings(), around()).score(batch_of((0, 0, ""), (0, 1, ""))).tolist() == [
        1,
        1,
    ]


def test_a_cap_in_tokens_must_be_given(tiny):
    """A default in multiples of the reference would reject everything as a number of tokens."""
    with pytest.raises(ConfigError, match=r"threshold is unset with relative: false"):
        tiny("defences=[{kind: length_cap, relative: false}]")
    tiny("defences=[{kind: length_cap, relative: false, threshold: 40}]")
