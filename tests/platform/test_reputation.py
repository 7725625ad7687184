"""If these fail, a cheat is never shut out, or an honest peer that crashed or slipped never comes back."""

import json

import pytest

from turncoat.platform.reputation import Reputation, Standing

BAD, GOOD = (9, 12), (1, 12)


def standing(**settings: float) -> Standing:
    return Standing(Reputation(**{"strikes": 2, "quarantine_rounds": 3, "forgive_rounds": 2, **settings}))


def test_repeated_strikes_lead_to_quarantine_and_back():
    """Two bad rounds, three rounds out, and then one more bad round is enough."""
    one = standing()
    one.record(1, {0: GOOD, 3: BAD})
    assert one.quarantined([0, 3], 2) == frozenset()
    one.record(2, {0: GOOD, 3: BAD})
    assert [one.quarantined([0, 3], r) for r in (3, 4, 5, 6)] == [{3}, {3}, {3}, frozenset()]
    one.record(6, {0: GOOD, 3: BAD})
    assert one.quarantined([0, 3], 7) == {3}


@pytest.mark.parametrize(("bad", "struck"), [(6, False), (7, True)])
def test_a_strike_is_more_than_the_share(bad: int, struck: bool):
    """A false alarm now and then is no strike."""
    one = standing(strikes=1)
    one.record(1, {2: (bad, 12)})
    assert bool(one.quarantined([2], 2)) is struck


def test_rounds_without_a_strike_are_forgiven_in_a_row():
    """A clean round between two bad ones does not yet wash one off; two do."""
    one = standing()
    for round, found in enumerate([BAD, GOOD, BAD], start=1):
        one.record(round, {2: found})
    assert one.quarantined([2], 4) == {2}
    one = standing()
    for round, found in enumerate([BAD, GOOD, GOOD, BAD], start=1):
        one.record(round, {2: found})
    assert one.quarantined([2], 5) == frozenset()


def test_a_peer_that_crashed_is_neither_struck_nor_forgiven():
    """Nothing came in: nobody learns anything about it."""
    one = standing()
    one.record(1, {2: BAD})
    for round in range(2, 9):
        one.record(round, {0: GOOD})
    assert one.strikes == {2: 1}
    one.record(9, {2: BAD})
    assert one.quarantined([2], 10) == {2}


def test_what_a_quarantined_peer_sends_does_not_count():
    """It is not learnt from, so it can neither make its case better nor worse."""
    one = standing(strikes=1)
    one.record(1, {2: BAD})
    for round in (2, 3, 4):
        one.record(round, {2: BAD})
    assert one.quarantined([2], 4) == {2}
    assert one.quarantined([2], 5) == frozenset()


def test_memory_survives_a_checkpoint():
    """A resumed run must not forget whom it had shut out."""
    one, other = standing(), standing()
    for round, found in enumerate([BAD, BAD, GOOD], start=1):
        one.record(round, {2: found, 0: GOOD, 1: BAD if round == 1 else GOOD})
    other.load(json.loads(json.dumps(one.state())))
    assert other.state() == one.state()
    assert (other.strikes, other.clean, other.until) == (one.strikes, one.clean, one.until)
    for round in range(3, 9):
        assert other.quarantined(range(4), round) == one.quarantined(range(4), round)
