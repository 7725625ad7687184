"""If these fail, the homogeneous reference is not homogeneous."""

from collections import Counter

import pytest

from turncoat.platform.config.errors import BadInput


@pytest.mark.parametrize("rows", [None, 600])
def test_every_client_sees_every_level(rows, toy, build):
    partition = build("iid", toy(rows), 4)
    for client in range(4):
        levels = Counter(partition.task.train(row).level for row in partition.rows(client, 0, 150))
        assert all(15 <= levels[level] <= 50 for level in range(1, 6))


def test_fewer_rows_than_clients_are_refused(toy, build):
    with pytest.raises(BadInput, match=r"'iid' has 3 training rows for clients.count = 5"):
        build("iid", toy(3))
