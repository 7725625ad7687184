"""Robust rules, on updates that a few lines of dense arithmetic can check."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from turncoat.platform.federation.robust.base import Rule, Standing, squared_distances
from turncoat.platform.federation.robust.coordinates import combined
from turncoat.platform.federation.robust.geometric_median import weiszfeld
from turncoat.platform.federation.robust.geometry import Geometry, inner, norm
from turncoat.platform.federation.robust.krum import krum_scores
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import ROBUST


def sparse(vector: np.ndarray) -> Sparse:
    at = np.flatnonzero(vector)
    return Sparse(len(vector), at, vector[at].astype(np.float32))


def drawn(clients: int, length: int = 400, density: float = 0.2, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    dense = random.standard_normal((clients, length)) * (random.random((clients, length)) < density)
    return dense.astype(np.float32)


def standing(dense: np.ndarray, weights: Sequence[float] | None = None, root: Any = None) -> Standing:
    clients = len(dense)
    given = np.array(weights if weights is not None else [1 / clients] * clients)

    def reweigh(chosen: np.ndarray) -> np.ndarray:
        return np.where(chosen, given, 0) / given[chosen].sum()

    geometry = Geometry(lambda at: sparse(dense[at]), range(clients), dense.shape[1], root)
    return Standing(given, np.ones(clients), geometry, reweigh)


def made(kind: str, **settings: object) -> Rule:
    return ROBUST.build(ROBUST.parse({"kind": kind, **settings}))


def scales(found: Standing) -> np.ndarray:
    """What each update is multiplied with in the end."""
    chosen = found.weights if found.coefficients is None else found.coefficients
    return chosen * found.factors


@pytest.mark.parametrize("density", [0.0, 0.03, 0.4, 1.0])
def test_geometry_is_that_of_the_dense_updates(density: float) -> None:
    """Entries that one names and another does not must count as zeros, on the union of supports."""
    dense = drawn(6, density=density).astype(np.float64)
    geometry = standing(dense.astype(np.float32)).geometry
    assert geometry.norms == pytest.approx(np.linalg.norm(dense, axis=1))
    assert geometry.gram == pytest.approx(dense @ dense.T, abs=1e-9)
    again = standing(dense.astype(np.float32)).geometry
    assert np.array_equal(again.gram, geometry.gram)
    assert np.array_equal(again.norms, geometry.norms), "with and without the pairs, the same norms"
    assert np.array_equal(
        np.diag(again.gram), np.array([inner(sparse(one), one) for one in dense.astype("f4")])
    )
    apart = np.linalg.norm(dense[:, None] - dense, axis=2) ** 2
    assert squared_distances(geometry.gram) == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize(("density", "most"), [(0.03, 6), (1.0, 21)])
def test_geometry_holds_no_more_than_one_vector_of_entries(density: float, most: int) -> None:
    """Thirty-two dense updates at once are thirty-two models in the server's memory."""
    dense, asked = drawn(6, 10_000, density), []

    class Counting(Sparse):
        alive = 0
        peak = 0

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            Counting.alive += self.nnz
            Counting.peak = max(Counting.peak, Counting.alive)

        def __del__(self) -> None:
            Counting.alive -= self.nnz

    def fetch(at: int) -> Sparse:
        asked.append(at)
        one = sparse(dense[at])
        return Counting(one.length, one.indices, one.values)

    gram = Geometry(fetch, range(6), 10_000).gram
    assert gram == pytest.approx(dense.astype(np.float64) @ dense.T.astype(np.float64), abs=1e-6)
    assert len(asked) == most
    # What is held, the one at hand, and the one before it until its name is taken over.
    assert Counting.peak <= 3 * 10_000


def test_identical_updates_are_at_no_distance() -> None:
    """Colluders that send one update must not look apart through rounding, nor have negative distances."""
    dense = np.repeat(drawn(1, 5000), 3, axis=0)
    assert squared_distances(standing(dense).gram).tolist() == np.zeros((3, 3)).tolist()


def test_long_updates_are_shortened_to_the_median() -> None:
    """One update a thousand times as long moves the policy where it likes."""
    dense = drawn(5)
    dense[4] *= 1000
    lengths = np.linalg.norm(dense.astype(np.float64), axis=1)
    found = made("norm_clip").apply(standing(dense))
    limit = np.median(lengths)
    assert found.norms == pytest.approx(np.minimum(lengths, limit))
    assert found.factors[lengths < limit].tolist() == [1.0, 1.0], "short ones keep their bits"
    fixed = made("norm_clip", norm=1.5).apply(standing(dense))
    assert fixed.norms == pytest.approx(np.minimum(lengths, 1.5))


def test_distances_are_those_of_the_clipped_updates() -> None:
    """Clip, then select: by the lengths as sent, one long update would hide who is near to whom."""
    dense = drawn(5)
    dense[4] *= 1000
    found = made("norm_clip").apply(standing(dense))
    clipped = dense.astype(np.float64) * found.factors[:, None]
    assert found.gram == pytest.approx(clipped @ clipped.T, abs=1e-9)


def test_clipping_leaves_zero_updates_alone() -> None:
    """0/0 would make NaN of a client that did not move, and of the policy."""
    found = made("norm_clip").apply(standing(np.zeros((3, 50), np.float32)))
    assert found.factors.tolist() == [1.0] * 3
    mostly = np.zeros((3, 50), np.float32)
    mostly[2, 1] = 5
    assert made("norm_clip").apply(standing(mostly)).factors.tolist() == [1.0, 1.0, 0.0]


def test_a_clip_that_stops_training_says_so() -> None:
    """Where half of the clients have nothing to learn, the median's length is 0: nobody's update is left."""
    dense = drawn(5)
    dense[:3] = 0
    (note,) = made("norm_clip").apply(standing(dense)).notes
    assert note.startswith("norm_clip: half of the updates are empty")
    assert not made("norm_clip").apply(standing(dense[1:])).norms.all()
    assert made("norm_clip").apply(standing(dense[2:])).notes == ()


def test_median_counts_only_who_has_weight() -> None:
    """Clients without signal send nearly nothing; their lengths would clip everyone else to nothing."""
    dense = np.zeros((5, 50), np.float32)
    dense[:2, 0] = 3, 4
    found = made("norm_clip").apply(standing(dense, [0.5, 0.5, 0, 0, 0]))
    assert found.factors == pytest.approx([1, 3.5 / 4, 1, 1, 1])


def test_krum_scores_by_hand() -> None:
    """Squared distances to the n − f − 2 nearest others, itself left out."""
    points = np.array([[0.0], [1.0], [3.0], [7.0], [20.0]])
    found = krum_scores(points @ points.T, attackers=1)
    assert found.tolist() == [1 + 9, 1 + 4, 4 + 9, 16 + 36, 169 + 289]


def test_krum_leaves_the_outlier_out() -> None:
    """The rule's purpose: the liar has weight 0, and the rest weights as if it had been absent."""
    dense = drawn(1) + 0.1 * drawn(6, seed=1)
    dense[3] *= -1
    weights = [0.1, 0.1, 0.2, 0.3, 0.2, 0.1]
    one = made("krum", attackers=1).apply(standing(dense, weights))
    assert sorted(one.weights.tolist()) == [0, 0, 0, 0, 0, 1]
    assert one.weights[3] == 0
    many = made("multi_krum", attackers=1).apply(standing(dense, weights))
    assert many.weights == pytest.approx(np.array([0.1, 0.1, 0.2, 0, 0.2, 0.1]) / 0.7)
    kept = made("multi_krum", attackers=1, keep=2).apply(standing(dense, weights))
    assert (kept.weights > 0).sum() == 2
    assert many.notes == one.notes == ()


def test_krum_ties_go_to_the_first_client() -> None:
    """Any other order depends on the sort's whim."""
    dense = np.repeat(drawn(1), 5, axis=0)
    assert made("krum").apply(standing(dense)).weights.tolist() == [1, 0, 0, 0, 0]
    assert made("multi_krum", attackers=2).apply(standing(dense)).weights[3:].tolist() == [0, 0]


@pytest.mark.parametrize("clients", [1, 2, 3, 4])
def test_krum_of_few_clients_says_that_it_does_not_hold(clients: int) -> None:
    """Drop-outs must not stop the run, nor leave its reader with a guarantee that is gone."""
    found = made("krum", attackers=1).apply(standing(drawn(clients)))
    assert found.weights.sum() == 1
    assert found.notes == (f"krum: {clients} clients do not hold 1 attackers; that takes 5",)


@pytest.mark.parametrize("outlier", [1.0, 1e6, 1e30])
@pytest.mark.parametrize("weighted", [True, False])
def test_geometric_median_is_the_least_sum_of_distances(outlier: float, weighted: bool) -> None:
    """The slope of that sum is 0 there, also where one update is 1e30 times as long."""
    dense = drawn(5, 20, 0.8)
    dense[2] *= outlier
    weights = np.array([0.3, 0.2, 0.2, 0.15, 0.15])
    found = made("geometric_median", weighted=weighted).apply(standing(dense, weights))
    assert found.coefficients is not None
    assert found.coefficients.sum() == pytest.approx(1)
    point = found.coefficients @ dense.astype(np.float64)
    counted = weights if weighted else np.full(5, 0.2)
    away = point - dense.astype(np.float64)
    slope = counted @ (away / np.linalg.norm(away, axis=1, keepdims=True))
    assert np.linalg.norm(slope) < 1e-6
    assert found.notes == ()


def test_geometric_median_of_one_place_stays_there() -> None:
    """Distances of 0 are the case that plain Weiszfeld divides by."""
    same = np.repeat(drawn(1), 4, axis=0)
    found = made("geometric_median").apply(standing(same, [0.4, 0.3, 0.2, 0.1]))
    assert found.coefficients == pytest.approx([0.4, 0.3, 0.2, 0.1])
    nowhere = made("geometric_median").apply(standing(np.zeros((3, 9), np.float32), [0.5, 0.3, 0.2]))
    assert nowhere.coefficients == pytest.approx([0.5, 0.3, 0.2])
    mostly = np.zeros((5, 9), np.float32)
    mostly[4] = 7
    point = made("geometric_median").apply(standing(mostly)).coefficients
    assert point is not None
    assert point[4] < 1e-30, "of updates that are mostly 0 it is 0"


def test_geometric_median_breaks_at_half_the_weight() -> None:
    """Bought weight beats the weighted rule, and not the unweighted: the docs send users there."""
    dense = drawn(1) + 0.01 * drawn(5, seed=1)
    dense[4] *= -10
    bought = [0.1, 0.1, 0.1, 0.1, 0.6]
    taken = made("geometric_median").apply(standing(dense, bought)).coefficients
    held = made("geometric_median", weighted=False).apply(standing(dense, bought)).coefficients
    assert taken is not None
    assert held is not None
    assert taken[4] > 0.99
    assert held[4] < 0.01


def test_weiszfeld_says_when_it_has_not_settled() -> None:
    """A point on its way is no median."""
    gram = (dense := drawn(5).astype(np.float64)) @ dense.T
    assert weiszfeld(gram, np.full(5, 0.2), 1e-6, 1000)[1]
    assert not weiszfeld(gram, np.full(5, 0.2), 1e-6, 1)[1]
    found = made("geometric_median", iterations=1).apply(standing(drawn(5)))
    assert found.notes == ("geometric_median: not settled in 1 steps",)


def test_fltrust_by_hand() -> None:
    """Cosine to the root update, none below 0, each update scaled to the root's length."""
    root = np.array([2, 0, 0, 0], np.float32)
    dense = np.array([[1, 0, 0, 0], [3, 3, 0, 0], [-5, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], np.float32)
    found = made("fltrust").apply(standing(dense, root=sparse(root)))
    trust = np.array([1, np.sqrt(0.5), 0, 0, 0])
    lengths = np.array([1, np.sqrt(18), 5, 1, 1])
    assert found.coefficients == pytest.approx(trust / trust.sum() * 2 / lengths)
    clipped = made("fltrust").apply(made("norm_clip", norm=0.5).apply(standing(dense, root=sparse(root))))
    assert scales(clipped) == pytest.approx(scales(found)), "clipping before it changes nothing"


def test_fltrust_without_trust_makes_no_step() -> None:
    """0/0 would make NaN of the policy when everyone, or the root itself, has nothing to say."""
    dense = -drawn(3)
    for root in (-dense[0], np.zeros(400, np.float32)):
        against = np.repeat(dense[:1], 3, axis=0)
        found = made("fltrust").apply(standing(against, root=sparse(root)))
        assert scales(found).tolist() == [0.0] * 3
        assert found.notes == ("fltrust: no update points where the server's own does; no step",)
    missing = made("fltrust").apply(standing(dense))
    assert scales(missing).tolist() == [0.0] * 3
    assert missing.notes == ("fltrust: the server's own update did not come in time; no step",)


@pytest.mark.parametrize("density", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("clients", [1, 2, 5, 6])
def test_coordinate_rules_are_those_of_the_dense_updates(clients: int, density: float) -> None:
    """In ranges, in blocks and on the union of supports: the same bits as on a dense matrix."""
    dense = drawn(clients, 70_000, density)
    factors = np.linspace(0.5, 1, clients)
    scaled = dense.astype(np.float64) * factors[:, None]
    out = min(1, (clients - 1) // 2)
    trimmed = np.sort(scaled, axis=0)[out : clients - out].mean(axis=0)
    for kind, expected in (("coordinate_median", np.median(scaled, axis=0)), ("trimmed_mean", trimmed)):
        rule = made(kind).apply(standing(dense))
        assert rule.combine is not None
        total, frozen = combined(
            lambda at: sparse(dense[at]), range(clients), factors.tolist(), 70_000, rule.combine
        )
        assert np.array_equal(total, expected.astype(np.float32))
        touched = scaled.any(axis=0)
        assert frozen == pytest.approx((expected[touched] == 0).mean())
        assert bool(rule.notes) == (kind == "trimmed_mean" and clients < 3)


def test_coordinate_rules_of_nothing_are_nothing() -> None:
    """A round in which no one moved has no union to divide by."""
    rule = made("coordinate_median").apply(standing(np.zeros((3, 9), np.float32)))
    assert rule.combine is not None
    total, frozen = combined(lambda at: sparse(np.zeros(9)), range(3), [1.0] * 3, 9, rule.combine)
    assert (total.tolist(), frozen) == ([0.0] * 9, 0.0)


def test_trimmed_mean_drops_the_liars_values() -> None:
    """The rule's purpose: f values, however large, on either side."""
    dense = np.array([[1.0], [2.0], [3.0], [1e30], [-1e30]], np.float32)
    combine = made("trimmed_mean", attackers=1).apply(standing(dense)).combine
    assert combine is not None
    assert combine(dense.astype(np.float64)).tolist() == [2.0]


def test_norm_is_in_float64() -> None:
    """In float32 the square of an update of length 1e20 is infinite, and it passes for the longest."""
    assert norm(np.full(4, 1e20, np.float32)) == pytest.approx(2e20)
