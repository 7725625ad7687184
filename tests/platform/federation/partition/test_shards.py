"""If these fail, a run with explicit shards trains on other rows than its config says."""

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import PARTITIONS


def section(*rows):
    return {"kind": "shards", "rows": list(rows)}


def test_ranges_have_both_ends(toy, build):
    partition = build(section("0-2", [5, "7-8", 6]), toy(600), 2)
    assert sorted(partition.rows(0, 0, 3)) == [0, 1, 2]
    assert sorted(partition.rows(1, 0, 4)) == [5, 6, 7, 8]
    assert partition.describe(1) == "rows 5, 6, 7-8: 57% of the rows dealt, 4"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["0-9", "9-12"], "holds row 9 for client 0 and for client 1: allowed is once"),
        (["0-99", [200], "50-60"], "holds row 50 for client 0 and for client 2"),
        ([[3, 3]], "holds row 3 for client 0 and for client 0"),
        (["0-9", []], "holds nothing for client 1"),
        (["9-0"], "holds '9-0' for client 0: expected is a row"),
        ([[-1]], "holds -1 for client 0"),
        (["all"], "holds 'all' for client 0"),
        (["0-99999999999"], "holds 100000000000 rows: allowed are 10000000"),
    ],
)
def test_a_wrong_shard_is_named_when_the_config_is_read(rows, message):
    """An overlap found after an hour of training is an hour lost."""
    with pytest.raises(ValueError, match=message):
        PARTITIONS.parse(section(*rows))


def test_there_is_one_shard_for_each_client(toy, build):
    with pytest.raises(BadInput, match=r"has 2 shards for clients.count = 3"):
        build(section("0-9", "10-19"), toy(600), 3)


def test_rows_beyond_the_data_are_refused(toy, build):
    """They would wrap around, into another client's shard."""
    with pytest.raises(BadInput, match=r"holds row 600, but the task 'toy' has 600 .* allowed are 0 to 599"):
        build(section("0-9", "590-600"), toy(600), 2)
