"""A cluster is asked for what a run needs, no more, and a run that cannot fit is refused with the reason."""

from collections.abc import Callable
from typing import Any

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse
from turncoat.platform.plan import (
    cast_of,
    demand_of,
    gpu_share,
    judges_of,
    own_node,
    plan_of,
    shortage,
    total,
    weigh,
)


def test_twins_follow_the_first_of_their_policy(tiny: Callable[..., Any]) -> None:
    """One peer computes for all that would compute the same, and for nobody else."""
    cast = cast_of(tiny("peers.count=8", "peers.malicious=2", "topology=vertical", "prompts_per_round=8"))
    assert (cast.leads, cast.twins) == ({0: "tiny-0.3m"}, {1: 0, 2: 0, 3: 0, 4: 0, 5: 0})
    assert cast.adversaries == {6: 0, 7: 0}


def test_a_malicious_peer_samples_from_its_own_policy(tiny: Callable[..., Any]) -> None:
    """In a swarm of two policies an attacker's majority vote is that of the policy it was dealt."""
    cast = cast_of(tiny("peers.policies=[tiny-0.3m,tiny-1m]"))
    assert (cast.leads, cast.twins, cast.adversaries) == ({0: "tiny-0.3m", 1: "tiny-1m"}, {2: 0}, {3: 1})


def test_without_sharing_every_honest_peer_computes(tiny: Callable[..., Any]) -> None:
    """The option that proves the sharing must not share."""
    cast = cast_of(tiny("peers.share_identical=false"))
    assert (list(cast.leads), cast.twins) == ([0, 1, 2], {})


def test_a_peer_is_one_bundle(tiny: Callable[..., Any]) -> None:
    """Rollout workers and learner of a peer stay on one node, so that they can share its GPU."""
    bundles = plan_of(tiny("hardware.split=true", "hardware.rollout_workers=3", "hardware.gpus_per_peer=1"))
    assert [bundle.role for bundle in bundles] == ["driver", "policy", "twin", "twin", "adversary"]
    assert bundles[1].resources == {"CPU": 2.0, "GPU": 1.0}


def test_shortage_names_field_need_and_offer(tiny: Callable[..., Any]) -> None:
    """Eight GPUs in all do not help a peer that needs them on one node."""
    bundles = plan_of(tiny("hardware.gpus_per_peer=8"))
    assert shortage(weigh(bundles, [{"CPU": 9, "GPU": 8}])) is None
    text = shortage(weigh(bundles, [{"CPU": 9, "GPU": 4}, {"CPU": 9, "GPU": 4}]))
    assert text is not None
    for word in ("hardware.gpus_per_peer", "8 GPU needed", "allowed", "4 on the roomiest node", "short of 4"):
        assert word in text


def test_a_machine_of_our_own_has_cpus_enough(tiny: Callable[..., Any]) -> None:
    """A laptop runs eight peers on two cores, slowly, rather than refuse."""
    bundles = plan_of(tiny("hardware.cpus_per_peer=40"))
    assert shortage(weigh(bundles, [own_node(bundles)])) is None


def test_a_gpu_is_cut_as_ray_cuts_it(tiny: Callable[..., Any]) -> None:
    """Ray refuses one and a half GPUs long after the run has begun; the plan refuses them at once."""
    halves = tiny("hardware.split=true", "hardware.gpus_per_peer=1")
    assert gpu_share(halves.hardware) == 0.5
    with pytest.raises(BadInput, match=r"hardware\.gpus_per_peer is 3, 1\.5 for each"):
        plan_of(tiny("hardware.split=true", "hardware.gpus_per_peer=3"))


def test_a_study_needs_its_largest_runs_at_a_time(tiny: Callable[..., Any]) -> None:
    """Two at a time: with one seed, the big arm meets a small one; with two, itself."""
    experiment = tiny().model_dump(mode="json")
    del experiment["name"], experiment["seed"]
    tree = {
        "kind": "study",
        "experiment": experiment,
        "arms": {"small": [], "big": ["hardware.cpus_per_peer=2"], "other": []},
    }
    light = total(plan_of(tiny()))["CPU"] - 0.5
    assert total(demand_of(parse(tree)))["CPU"] == pytest.approx(2 + 0.5 + 2 * light)
    assert total(demand_of(parse(tree, ["seeds=[0,1]"])))["CPU"] == pytest.approx(2 + 2 + 2 * light)


def test_judges_have_bundles_of_their_own_behind_the_peers(tiny: Callable[..., Any]) -> None:
    """Workers are placed by counting: peer i's bundle stays 1 + i, and each judge has room of its own."""
    one = tiny(
        "defences=[{kind: judge, workers: 2}, support, {kind: judge, name: second}]",
        "hardware.cpus_per_judge=2",
        "hardware.gpus_per_judge=0.5",
    )
    assert judges_of(one) == [("judge", 0), ("judge", 1), ("second", 0)]
    bundles = plan_of(one)
    assert [bundle.owner for bundle in bundles[:5]] == ["driver", "peer-00", "peer-01", "peer-02", "peer-03"]
    assert [bundle.owner for bundle in bundles[5:]] == ["judge-judge/0", "judge-judge/1", "judge-second/0"]
    assert {bundle.role for bundle in bundles[5:]} == {"judge"}
    assert [bundle.resources for bundle in bundles[5:]] == [{"CPU": 2.0, "GPU": 0.5}] * 3
    assert total(bundles)["GPU"] == 1.5


def test_without_judges_nothing_is_asked_for_them(tiny: Callable[..., Any]) -> None:
    """A setting for judges must not make a swarm without one too large."""
    big = ("hardware.cpus_per_judge=99", "defences=[support]")
    assert judges_of(tiny(*big)) == []
    assert total(plan_of(tiny(*big))) == total(plan_of(tiny()))
