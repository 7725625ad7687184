"""Curves and counts: a reader must see each peer's course once, and shares over the right denominator."""

from turncoat.platform.report.curves import Curve, accepted, by_peer, curve, derived, mean_curve, rejected


def line(peer: str, round: int, **figures):
    return {"kind": "round", "peer": peer, "round": round, **figures}


def test_twins_stand_together_and_others_apart():
    twins = [line(f"peer-{peer:02d}", 1, loss=0.5, seconds={"total": peer}) for peer in range(3)]
    assert list(by_peer(twins)) == ["honest peers"]
    assert list(by_peer([*twins, line("peer-03", 1, loss=0.7)])) == ["peer-00 … peer-02 (3)", "peer-03"]
    assert by_peer([]) == {}


def test_rounds_without_the_figure_leave_a_gap_not_a_zero():
    lines = [line("a", 1, kl=None), line("a", 2, kl=0.5, kl_interval=[0.4, 0.6]), line("a", 3)]
    assert curve(lines, "kl", "kl_interval") == Curve((2,), (0.5,), ((0.4, 0.6),))


def test_accepted_shares_and_rejected_counts():
    lines = [
        line("a", 1, n_poisoned=4, accepted_poisoned=1, n_honest=0, accepted_honest=0),
        line("a", 2, n_poisoned=0, accepted_poisoned=0, n_honest=10, accepted_honest=9),
    ]
    assert derived(lines, accepted("poisoned")) == Curve((1,), (0.25,))
    assert derived(lines, accepted("honest")) == Curve((2,), (0.9,))
    assert rejected(lines, "poisoned") == (3, 4)
    assert rejected(lines, "honest") == (1, 10)


def test_a_mean_over_seeds_covers_the_rounds_that_all_seeds_reached():
    assert mean_curve([Curve((0, 10, 20), (0.0, 0.2, 0.4)), Curve((0, 10), (0.2, 0.4))]) == Curve(
        (0, 10), (0.1, 0.30000000000000004)
    )
    assert mean_curve([]) == Curve((), ())
