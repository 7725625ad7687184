"""If these fail, the paper's split (one level per client) is not what its name says."""

import pytest

from turncoat.platform.config.errors import BadInput


@pytest.mark.parametrize("rows", [None, 600])
def test_five_clients_have_one_level_each(rows, toy, build):
    """The comparison's heterogeneity is exactly this."""
    partition = build("by_level", toy(rows))
    for client in range(5):
        seen = {partition.task.train(row).level for row in partition.rows(client, 3, 40)}
        assert seen == {client + 1}
    assert partition.describe(2).startswith("level 3: 20% of ")


def test_more_levels_than_clients_are_dealt_in_turn(toy, build):
    """Else levels would be lost, or dealt otherwise than the docs say."""
    partition = build("by_level", toy(600), 2)
    levels = [
        {partition.task.train(row).level for row in partition.rows(client, 0, 200)} for client in (0, 1)
    ]
    assert levels == [{1, 3, 5}, {2, 4}]


def test_too_few_levels_name_both_numbers(toy, build):
    """Else the user could not tell whether to change the task or the clients."""
    with pytest.raises(BadInput, match=r"'by_level' finds 5 \(level 1, .*level 5\).* clients.count = 6"):
        build("by_level", toy(None), 6)


def test_a_task_without_levels_is_refused(toy, build):
    """Else client 0 would train alone."""
    with pytest.raises(BadInput, match="no training row of the task 'toy' has a level"):
        build("by_level", toy(600, level=0))


def test_a_rare_level_is_refused_where_rows_must_be_searched(toy, build):
    """Else each step of that client would look through thousands of rows, for minutes."""
    task = toy(None)
    task.train = lambda index: toy(None, level=2 if index == 7 else 1).train(index)
    with pytest.raises(
        BadInput, match=r"by level leaves client 1 of clients.count = 2 with 0.10% of the rows"
    ):
        build("by_level", task, 2)


def test_a_level_that_ends_is_no_endless_search(toy, build, monkeypatch):
    """Else a plug-in task whose later rows are others would hang the client."""
    monkeypatch.setattr("turncoat.platform.federation.partition.owned.SPAN", 64)
    task = toy(None)
    task.train = lambda index: toy(None, level=2 if index < 512 else 1).train(index)
    with pytest.raises(BadInput, match=r"finds 0 rows of client 1 in 256, expected are 4: .* had 50.00%"):
        build("by_level", task, 2).rows(1, 0, 4)


def test_lengths_are_cut_into_equal_parts_shortest_first(toy, build):
    """MBPP by solution length: the clients must be as large as each other, and ordered."""
    partition = build("by_length", toy(600))
    lengths = [
        {len(partition.task.train(row).solution) for row in partition.rows(client, 0, 120)}
        for client in range(5)
    ]
    assert lengths == [set(range(1 + 4 * client, 5 + 4 * client)) for client in range(5)]
    assert [partition.share(client) for client in range(5)] == pytest.approx([0.2] * 5)
    assert partition.describe(0) == "length 0-4: 20% of the rows dealt, 120"
    assert partition.describe(4) == "length 17+: 20% of the rows dealt, 120"


def test_equal_lengths_are_refused(toy, build):
    """Else all rows would go to one client."""
    with pytest.raises(BadInput, match=r"'by_length' finds 1 .*clients.count = 5"):
        build("by_length", toy(600, solution="same"))


def test_topics_are_dealt_by_name(toy, build):
    partition = build("by_topic", toy(600), 3)
    topics = [{partition.task.train(row).topic for row in partition.rows(i, 0, 50)} for i in range(3)]
    assert topics == [{"algebra"}, {"geometry"}, {"sums"}]
    with pytest.raises(BadInput, match=r"'by_topic' finds 3 \(topic algebra, .*clients.count = 4"):
        build("by_topic", toy(600), 4)
