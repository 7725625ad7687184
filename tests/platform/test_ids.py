"""Seeds and order make two runs of one config the same; change them and no published run can be repeated."""

import random

import pytest

from turncoat.platform.ids import CompletionId, peer_name, seed_of


@pytest.mark.parametrize(
    ("parts", "seed"),
    [
        ((), 8238016292129134938),
        ((1,), 3774994040936490914),
        (("1",), 1745743928151893231),
        (("a", "bc"), 8511780276257567059),
        (("ab", "c"), 5533386470242160517),
        ((0, "rollout", 3, 1, 2, 0), 7225170801217062803),
    ],
)
def test_seeds_are_pinned(parts, seed):
    assert seed_of(*parts) == seed


def test_an_id_names_its_draw():
    assert seed_of(0, "rollout", *CompletionId(round=3, prompt=1, peer=2, sample=0)) == 7225170801217062803


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("a", "bc"), ("ab", "c")),
        (("abc",), ("a", "bc")),
        ((1,), ("1",)),
        ((1, 23), (12, 3)),
        ((1, 2), (2, 1)),
        (("a", ""), ("a",)),
        # Text that looks like the tag of a second part.
        (("a", "b"), ("astr:1:b",)),
        ((-1,), (1,)),
    ],
)
def test_different_parts_differ(left, right):
    """Two draws that share a seed would be the same completion twice."""
    assert seed_of(*left) != seed_of(*right)


def test_no_collision_in_a_long_run_and_every_seed_has_63_bits():
    seeds = {
        seed_of(0, "rollout", round, prompt, peer, sample)
        for round in range(10)
        for prompt in range(32)
        for peer in range(4)
        for sample in range(12)
    }
    assert len(seeds) == 10 * 32 * 4 * 12
    assert min(seeds) >= 0
    assert 2**62 < max(seeds) < 2**63


def test_ids_sort_by_round_prompt_peer_sample_whatever_the_arrival():
    ordered = [
        CompletionId(round, prompt, peer, sample)
        for round in range(2)
        for prompt in (0, 2, 10)
        for peer in range(3)
        for sample in range(2)
    ]
    arrived = ordered.copy()
    random.Random(0).shuffle(arrived)
    assert arrived != ordered
    assert sorted(arrived) == ordered


def test_names_as_they_stand_in_journals():
    assert str(CompletionId(3, 1, 2, 0)) == "r3/q1/p2/s0"
    assert [peer_name(3), peer_name(63)] == ["peer-03", "peer-63"]
