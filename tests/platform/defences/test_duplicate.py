"""If these fail, copies of poison pass as many voices, or honest variety is taken for copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.config.errors import BadInput
from turncoat.platform.defences.duplicate import Duplicate, nearest
from turncoat.platform.defences.grams import presence

WIDE = ("group_size=12",)


def scores(defence: Duplicate, batch) -> dict[tuple[int, int, int], float]:
    return {tuple(one.id[1:]): s for one, s in zip(batch.completions, defence.score(batch), strict=True)}


def test_copies_score_one_and_near_copies_their_overlap(around, batch_of):
    """A swapped word must not make a text new."""
    long = "All hail to the thief . 7 + 8 = 1 5 . 4 + 3 + 1 = 8 ."
    defence = Duplicate(Duplicate.Settings(copies=1, n=3), around(*WIDE))
    batch = batch_of(
        (0, 0, long),
        (0, 0, long),
        (0, 0, "nothing of the sort"),
        (0, 1, long.replace("8 .", "9 .")),
        (0, 1, long),
    )
    found = scores(defence, batch)
    assert found[0, 0, 0] == found[0, 0, 1] == 1
    assert found[0, 0, 2] < 0.1
    assert 0.6 < found[0, 1, 0] == found[0, 1, 1] < 1


def test_only_completions_of_one_prompt_are_compared(around, batch_of):
    """The same answer to two questions is no copy; the same row in two groups is one prompt."""
    defence = Duplicate(Duplicate.Settings(copies=1, scope="group"), around(*WIDE))
    batch = batch_of((0, 0, "1 + 1 = 2"), (1, 0, "1 + 1 = 2"), (1, 1, "1 + 1 = 2"))
    assert list(scores(defence, batch).values()) == [0, 1, 1]


def test_the_scope_says_whose_copies_count(around, batch_of):
    """Honest peers agree on an easy answer; one peer that says it again and again is another thing."""
    batch = batch_of(*[(0, peer, "1 + 1 = 2") for peer in range(4)], (0, 3, "1 + 1 = 2"), (0, 3, "1 + 1 = 2"))
    settings = {"peer": 2, "group": 2}
    found = {
        scope: list(
            scores(Duplicate(Duplicate.Settings(scope=scope, copies=n), around(*WIDE)), batch).values()
        )
        for scope, n in settings.items()
    }
    assert found == {"peer": [0, 0, 0, 1, 1, 1], "group": [1] * 6}


def test_more_copies_may_be_asked_for(around, batch_of):
    """A policy repeats itself; how often it may is a setting."""
    batch = batch_of((0, 0, "1 + 1 = 2"), (0, 0, "1 + 1 = 2"), (0, 0, "it is 2"))
    one, two = (Duplicate(Duplicate.Settings(copies=n), around(*WIDE)) for n in (1, 2))
    assert one.rejects(one.score(batch)).tolist() == [True, True, False]
    assert two.rejects(two.score(batch)).tolist() == [False, False, False]


def test_empty_texts_are_copies_of_each_other(around, batch_of):
    """0 of 0 n-grams must not be NaN, nor a way around the check."""
    batch = batch_of((0, 0, ""), (0, 0, " \n"), (0, 0, "a"))
    found = Duplicate(Duplicate.Settings(copies=1), around(*WIDE)).score(batch)
    assert found.tolist()[:2] == [1, 1]
    assert found[2] < 1


@pytest.mark.parametrize("overrides", [("group_size=4",), ("group_size=8",)])
def test_a_comparison_with_nobody_is_refused(around, overrides):
    """A horizontal slice of one completion has no others: the score would be 0 for ever."""
    with pytest.raises(BadInput, match="copies 2 with scope 'peer'"):
        Duplicate(Duplicate.Settings(), around(*overrides))
    Duplicate(Duplicate.Settings(), around(*overrides, "topology=vertical"))


@given(
    st.lists(st.tuples(st.text("ab ", max_size=8), st.integers(0, 2)), min_size=1, max_size=9),
    st.integers(1, 3),
)
def test_the_join_is_the_jaccard_similarity_of_every_pair(texts: list[tuple[str, int]], copies: int):
    """Against the definition, pair by pair."""
    found = presence([text for text, _ in texts], 2, 100)
    groups = np.unique([group for _, group in texts], return_inverse=True)[1]
    sets = [set(found.gram[found.owner == i].tolist()) for i in range(len(texts))]
    for i, score in enumerate(nearest(found, groups, copies)):
        others = sorted(
            (len(sets[i] & sets[j]) / len(sets[i] | sets[j]))
            for j in range(len(texts))
            if j != i and groups[j] == groups[i]
        )
        assert score == pytest.approx(others[-copies] if len(others) >= copies else 0.0)
