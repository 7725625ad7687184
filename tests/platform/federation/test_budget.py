"""Who may send how many entries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncoat.platform.federation.budget import entry_budgets, water_fill
from turncoat.platform.federation.signals import Signal

SIGMA = st.one_of(st.just(0.0), st.floats(0, 0.5))
CLIENTS = st.lists(st.tuples(SIGMA, st.integers(0, 10**10)), min_size=1, max_size=32)


def signals(clients: list) -> list[Signal]:
    return [Signal(k, 1, 8, 0.5, sigma, nnz, 0.0) for k, (sigma, nnz) in enumerate(clients)]


@given(CLIENTS, st.floats(0.001, 1), st.sampled_from(["signal", "uniform", "fixed"]))
def test_budgets_keep_within_the_total(clients: list, share: float, rule: str) -> None:
    """A link that is sized for B would be overrun, or a client asked for entries that it does not have."""
    found = entry_budgets(signals(clients), share, rule)
    sizes = [nnz for _, nnz in clients]
    assert found.dtype == np.int64
    assert np.all(found >= 0)
    assert np.all(found <= sizes)
    assert sum(found.tolist()) <= share * sum(sizes)
    if rule != "fixed":
        assert sum(found.tolist()) == int(share * sum(sizes)), "what may be sent is handed out"


@given(CLIENTS, st.sampled_from(["signal", "uniform", "fixed"]))
def test_full_budget_is_everything(clients: list, rule: str) -> None:
    """B = 1 is the lossless row: even a client without signal sends all that it has."""
    assert entry_budgets(signals(clients), 1.0, rule).tolist() == [nnz for _, nnz in clients]


@given(st.lists(st.tuples(st.floats(0.001, 0.5), st.integers(1, 10**6)), min_size=2, max_size=12))
def test_shares_are_proportional_up_to_the_caps(clients: list) -> None:
    """The mechanism itself: entries per σ are equal for all that are not full, and no lower for none."""
    found = entry_budgets(signals(clients), 0.4, "signal")
    level = [count / sigma for (sigma, _), count in zip(clients, found.tolist(), strict=True)]
    open_ = [k for k, (_, nnz) in enumerate(clients) if found[k] < nnz]
    for k in open_:
        for j in range(len(clients)):
            assert level[j] <= level[k] + 1 / clients[j][0] + 1 / clients[k][0]


def test_water_filling_by_hand() -> None:
    """The second client is full at 5; the ten that are left go 2 : 1. A lone remainder goes to the first."""
    assert water_fill(15, [0.2, 0.3, 0.1], [100, 5, 100]).tolist() == [7, 5, 3]
    assert water_fill(7, [1, 1, 1], [10, 10, 10]).tolist() == [3, 2, 2]
    assert water_fill(5, [0, 0, 0.1], [4, 4, 3]).tolist() == [1, 1, 3]
    assert water_fill(35, [0, 0, 0.1], [40, 20, 5]).tolist() == [20, 10, 5]
    assert water_fill(0, [1.0], [5]).tolist() == [0]
    assert water_fill(4, [1e-320, 0.5], [3, 3]).tolist() == [1, 3]


def test_silent_clients_come_last() -> None:
    """Their updates have weight 0: bandwidth is wasted on them while anyone else has something to send."""
    assert entry_budgets(signals([(0.0, 50), (0.4, 100)]), 0.5, "signal").tolist() == [0, 75]
    assert entry_budgets(signals([(0.0, 50), (0.4, 100)]), 0.5, "fixed").tolist() == [25, 50]
    assert entry_budgets(signals([(0.0, 50), (0.4, 100)]), 0.5, "uniform").tolist() == [38, 37]


def test_a_liar_buys_bandwidth() -> None:
    """Known limit, in the docs: a σ of one half among honest ones of 0.1 takes most of the budget."""
    honest = entry_budgets(signals([(0.1, 1000)] * 5), 0.05, "signal")
    lied = entry_budgets(signals([(0.1, 1000)] * 4 + [(0.5, 1000)]), 0.05, "signal")
    assert honest.tolist() == [50] * 5
    assert lied.tolist() == [28, 28, 28, 27, 139]


def test_a_liar_lifts_the_budget() -> None:
    """Known limit: B is a share of what clients say they have, and one that says N lifts it for all."""
    lied = entry_budgets(signals([(0.1, 1000)] * 4 + [(0.1, 100_000)]), 0.05, "signal")
    assert lied.tolist() == [1000] * 4 + [1200]


@pytest.mark.parametrize("scale", [0.25, 2**-900])
def test_only_ratios_of_sigma_count(scale: float) -> None:
    """Rewards on another scale, or an almost solved task, share the bandwidth alike."""
    clients = [(0.1, 300), (0.4, 500), (0.25, 20)]
    scaled = [(sigma * scale, nnz) for sigma, nnz in clients]
    assert np.array_equal(entry_budgets(signals(scaled), 0.3), entry_budgets(signals(clients), 0.3))
