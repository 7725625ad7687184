"""If these fail, a group is judged without some of its members, or completions drop out of a round."""

import numpy as np
import pytest

from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.packing import chunks_of, parts_of, right_pad


def rows_of(groups: int, size: int) -> list[Row]:
    rng = np.random.default_rng(0)
    return [
        Row(CompletionId(1, q, s % 4, s // 4), (2,), (3,) * int(rng.integers(0, 30)))
        for q in range(groups)
        for s in range(size)
    ]


@pytest.mark.parametrize("budget", [1, 100, 500, 10**6])
def test_parts_hold_whole_groups_and_every_row_once(budget: int):
    """An advantage needs the rewards of its whole group."""
    rows = rows_of(9, 8)
    parts = parts_of(rows, budget)
    assert sorted(row.id for part in parts for row in part) == sorted(row.id for row in rows)
    homes = [{row.id.prompt for row in part} for part in parts]
    assert sum(map(len, homes)) == 9
    for part, home in zip(parts, homes, strict=True):
        padded = len(part) * max(len(row.completion) for row in part)
        assert padded <= budget or len(home) == 1
    assert (len(parts) == 1) == (budget == 10**6)


def test_parts_do_not_depend_on_the_order_of_arrival():
    """Sums in another order round to another policy."""
    rows = rows_of(6, 4)
    shuffled = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    assert parts_of(shuffled, 200) == parts_of(rows, 200)
    assert parts_of([], 200) == []


@pytest.mark.parametrize("budget", [1, 64, 10**6])
def test_chunks_keep_within_the_budget(budget: int):
    """Memory: a chunk is what one forward pass holds."""
    rows = rows_of(1, 12)
    chunks = chunks_of(rows, budget)
    assert sorted(i for chunk in chunks for i in chunk) == list(range(12))
    for chunk in chunks:
        padded = len(chunk) * max(len(rows[i].completion) for i in chunk)
        assert padded <= budget or len(chunk) == 1


def test_padding_stands_on_the_right_and_is_masked():
    """An empty completion keeps its row."""
    ids, mask = right_pad([(5, 6), (), (7,)], 0)
    assert ids.tolist() == [[5, 6], [0, 0], [7, 0]]
    assert mask.tolist() == [[True, True], [False, False], [True, False]]
    assert right_pad([()], 0)[0].shape == (1, 1)
