"""If these fail, alpha does not set how unlike the clients are."""

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.federation.partition.dirichlet import shares
from turncoat.platform.registry import PARTITIONS


def skew(partition):
    """The mean over clients of the largest level's part of their rows."""
    largest = [max(mix.values()) / sum(mix.values()) for mix in partition.mixes]
    return sum(largest) / len(largest)


@pytest.mark.parametrize("rows", [None, 600])
def test_small_alpha_is_more_skewed_than_large(rows, toy, build):
    """The one thing that a user sets alpha for."""
    skews = [
        sum(skew(build({"kind": "dirichlet", "alpha": alpha}, toy(rows), seed=seed)) for seed in range(3)) / 3
        for alpha in (0.1, 1.0, 1000)
    ]
    assert skews[0] > skews[1] > skews[2]
    assert skews[0] > 0.5
    assert skews[2] < 0.35


@pytest.mark.parametrize("alpha", [1e-6, 0.01, 1.0, 1e6])
def test_shares_are_a_distribution_at_any_alpha(alpha):
    """A gamma of a tiny alpha underflows to zero: the shares would be nan."""
    drawn = shares(alpha, 5, 7)
    assert sum(drawn) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in drawn)


def test_shares_have_the_mean_and_variance_of_their_alpha():
    """Else results at "alpha 0.5" could not be compared with anyone else's."""
    firsts = [shares(0.5, 5, seed)[0] for seed in range(4000)]
    mean = sum(firsts) / len(firsts)
    variance = sum((share - mean) ** 2 for share in firsts) / len(firsts)
    assert mean == pytest.approx(0.2, abs=0.02)
    assert variance == pytest.approx(0.2 * 0.8 / (5 * 0.5 + 1), rel=0.1)


def test_the_rows_dealt_follow_the_shares(toy, build):
    """Else the report would describe other data than the clients train on."""
    partition = build({"kind": "dirichlet", "alpha": 1.0}, toy(None), seed=2)
    mix = partition.mixes[0]
    rows = [row for step in range(50) for row in partition.rows(0, step, 16)]
    levels = [partition.task.train(row).level for row in rows]
    for level, part in mix.items():
        assert levels.count(level) / len(levels) == pytest.approx(part / sum(mix.values()), abs=0.08)


def test_every_client_gets_its_smallest_share(toy, build):
    """Else one seed of a comparison would have a client without data."""
    section = {"kind": "dirichlet", "alpha": 0.05, "min_share": 0.2}
    for seed in range(5):
        partition = build(section, toy(None), seed=seed)
        assert min(partition.share(client) for client in range(5)) >= 0.2 / 5 - 1e-9


def test_a_hopeless_draw_is_refused(toy, build):
    """One value at a tiny alpha is one client's: the others would have nothing."""
    with pytest.raises(BadInput, match=r"partition.alpha: 0.001 .* 1 values of 'answer' .*clients.count = 5"):
        build({"kind": "dirichlet", "alpha": 0.001, "column": "answer"}, toy(600))


def test_no_client_is_left_without_rows(toy, build):
    """With few rows a small share may come to none, and the client's steps would divide by zero."""
    with pytest.raises(BadInput, match=r"leaves client \d of clients.count = 5 with 0.00% of the rows"):
        build({"kind": "dirichlet", "alpha": 0.01, "column": "answer", "min_share": 0}, toy(20))


def test_an_unknown_column_is_named_with_the_nearest(toy, build):
    with pytest.raises(BadInput, match=r"partition.column: unknown column 'levle'; did you mean 'level'"):
        build({"kind": "dirichlet", "column": "levle"}, toy(600))


def test_a_column_of_free_text_is_refused_where_rows_must_be_searched(toy, build):
    """Its values to come are not in the sample, so that no row would ever be found."""
    with pytest.raises(BadInput, match=r"'text' has 1024 values in 1024 rows .* at most 256"):
        build({"kind": "dirichlet", "column": "text"}, toy(None))


def test_a_column_of_free_text_is_described_in_one_line(toy, build):
    """Else one long prompt would break the report's table."""
    task = toy(600)
    task.train = lambda index: toy(600, answer=f"{index}\n" * 1000).train(index)
    line = build({"kind": "dirichlet", "column": "answer"}, task).describe(0)
    assert line.startswith("answer ")
    assert "\n" not in line
    assert len(line) < 160


def test_alpha_is_above_zero():
    with pytest.raises(ValueError, match="alpha"):
        PARTITIONS.parse({"kind": "dirichlet", "alpha": 0})
