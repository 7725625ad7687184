"""What every partition promises. If it fails, clients share data, or a resumed run is not the run."""

import time

import pytest

from turncoat.platform.registry import PARTITIONS, TASKS

ROWS = 600
SHARDS = {"kind": "shards", "rows": [["0-99"], "100-199", [200, "201-299"], ["300-399"], ["400-599"]]}
SECTIONS = [
    "iid",
    "by_level",
    {"kind": "by_topic"},
    "by_length",
    {"kind": "dirichlet", "alpha": 0.5},
    {"kind": "dirichlet", "alpha": 2, "column": "topic"},
    {"kind": "dirichlet", "alpha": 1, "column": "length"},
    {"kind": "dirichlet", "alpha": 1, "column": "answer"},
    {"kind": "dirichlet", "alpha": 10, "column": "solution"},
    SHARDS,
]


def name(section):
    return section if isinstance(section, str) else f"{section['kind']}-{section.get('column', '')}"


@pytest.fixture(params=SECTIONS, ids=name)
def section(request):
    return request.param


@pytest.fixture(params=[None, ROWS], ids=["endless", "finite"])
def rows(request):
    return request.param


def clients_of(section):
    return 3 if name(section).startswith("by_topic") else 5


def dealt(partition, client, steps, count=8):
    return [row for step in range(steps) for row in partition.rows(client, step, count)]


def test_no_two_clients_see_one_row(section, rows, toy, build):
    """Else a "private" prompt would train two clients, and a poisoned shard would leak into honest ones."""
    partition = build(section, toy(rows), clients_of(section))
    seen = [set(dealt(partition, client, 30)) for client in range(partition.clients)]
    assert sum(map(len, seen)) == len(set().union(*seen))
    assert all(seen)


def test_finite_rows_come_round_only_when_the_shard_is_used_up(section, toy, build):
    """Else a client would learn some of its prompts by heart and never see others."""
    partition = build(section, toy(ROWS), clients_of(section))
    shards = []
    for client in range(partition.clients):
        order = dealt(partition, client, 2 * ROWS // 8)
        size = len(set(order))
        first, second = order[:size], order[size : 2 * size]
        assert set(first) == set(order)
        assert set(second) == set(first)
        assert size < 10 or second != first
        shards += first
    everyone = {row for row in range(ROWS) if "level" not in partition_column(section) or row % 50 != 49}
    assert sorted(shards) == sorted(everyone)


def partition_column(section):
    kind = section if isinstance(section, str) else section["kind"]
    return section.get("column", "level") if kind == "dirichlet" else kind


@pytest.mark.parametrize("section", [one for one in SECTIONS if one is not SHARDS], ids=name, indirect=True)
def test_endless_rows_never_come_back(section, toy, build):
    """Else "endless" data would repeat, and local epochs differ from what the run says. Shards are finite."""
    partition = build(section, toy(None), clients_of(section))
    for client in range(partition.clients):
        order = dealt(partition, client, 40)
        assert len(order) == len(set(order)) == 320


def test_the_same_rows_in_any_order_of_asking(section, rows, toy, build):
    """Else a client that resumes, or that was absent for a round, would train on other prompts."""
    clients = clients_of(section)
    one, other = (build(section, toy(rows), clients, seed=3) for _ in range(2))
    forward = {(client, step): one.rows(client, step, 8) for client in range(clients) for step in range(9)}
    for client, step in reversed(forward):
        assert other.rows(client, step, 8) == forward[client, step]


def test_another_seed_sees_other_rows_or_another_order(section, rows, toy, build):
    """Else five seeds would be one run five times, and the interval a fiction."""
    clients = clients_of(section)
    one, other = (build(section, toy(rows), clients, seed=seed) for seed in (0, 1))
    assert all(one.rows(client, 0, 16) != other.rows(client, 0, 16) for client in range(clients))


def test_shares_are_what_the_clients_get(section, toy, build):
    """Else weighting by samples would weigh by something else."""
    partition = build(section, toy(ROWS), clients_of(section))
    sizes = [len(set(dealt(partition, client, 100))) for client in range(partition.clients)]
    assert [partition.share(client) for client in range(partition.clients)] == pytest.approx(
        [size / sum(sizes) for size in sizes]
    )


def test_one_client_has_everything(section, rows, toy, build):
    """Else the case K = 1, which must equal centralised training, would train on a part."""
    if name(section).startswith("shards"):
        section = {"kind": "shards", "rows": ["0-599"]}
    assert build(section, toy(rows), 1).share(0) == 1


def test_descriptions_are_one_short_line(section, rows, toy, build):
    """Else the report's table of clients would not fit its page."""
    partition = build(section, toy(rows), clients_of(section))
    for client in range(partition.clients):
        assert 10 < len(partition.describe(client)) < 160
        assert "\n" not in partition.describe(client)


def test_every_kind_is_tried_here():
    """Else a new kind could break these promises unseen."""
    assert {name(section).split("-")[0] for section in SECTIONS} == set(PARTITIONS.builtin)


def test_a_step_of_the_bundled_task_takes_milliseconds(build):
    """Else dealing prompts would cost more than the small policies' training steps."""
    partition = build("by_level", TASKS.build(TASKS.parse("arithmetic")))
    partition.rows(2, 0, 16)
    began = time.perf_counter()
    rows = partition.rows(2, 1, 16)
    assert time.perf_counter() - began < 1
    assert {partition.task.train(row).level for row in rows} == {3}
    assert max(rows) < 2**53  # a journal's JSON numbers are exact up to here
