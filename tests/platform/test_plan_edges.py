"""If these fail, a run hangs for resources that no one has, or a policy is computed by nobody."""

from collections.abc import Callable
from typing import Any

import pytest

from turncoat.platform.plan import cast_of, plan_of, shortage, weigh


@pytest.mark.parametrize("malicious", [0, 1, 3])
@pytest.mark.parametrize("policies", ["null", "[tiny-0.3m,tiny-1m]"])
@pytest.mark.parametrize("share", ["true", "false"])
def test_everyone_has_one_part_and_one_bundle(
    tiny: Callable[..., Any], malicious: int, policies: str, share: str
) -> None:
    """Bundle 0 is the driver's, bundle 1 + i is peer i's: actors are placed by that."""
    one = tiny(
        f"peers.malicious={malicious}",
        f"attack={'text' if malicious else 'none'}",
        f"peers.policies={policies}",
        f"peers.share_identical={share}",
    )
    cast = cast_of(one)
    assert sorted([*cast.leads, *cast.twins, *cast.adversaries]) == [0, 1, 2, 3]
    assert list(cast.adversaries) == [0, 1, 2, 3][4 - malicious :]
    assert {*cast.twins.values(), *cast.adversaries.values()} <= cast.leads.keys()
    assert all(cast.leads[lead] == one.policy_of(twin) for twin, lead in cast.twins.items())
    bundles = plan_of(one)
    assert [bundle.owner for bundle in bundles] == ["driver", "peer-00", "peer-01", "peer-02", "peer-03"]
    assert [bundle.role for bundle in bundles].count("adversary") == malicious
    assert [i - 1 for i, bundle in enumerate(bundles) if bundle.role == "policy"] == list(cast.leads)
    assert all(bundle.resources["CPU"] > 0 for bundle in bundles)


def test_an_adversary_of_a_policy_that_no_honest_peer_has_samples_from_the_first(
    tiny: Callable[..., Any],
) -> None:
    """Nobody holds its weights; it must sample from somebody."""
    cast = cast_of(tiny("peers.policies=[tiny-1m,tiny-1m,tiny-1m,tiny-0.3m]"))
    assert cast.leads == {0: "tiny-1m"}
    assert cast.adversaries == {3: 0}


def test_64_peers_fit_two_cores(tiny: Callable[..., Any]) -> None:
    """Twins are light."""
    many = tiny("peers.count=64", "peers.malicious=16", "topology=vertical", "prompts_per_round=64")
    (line,) = weigh(plan_of(many), [{"CPU": 2.0}])
    assert line.needed == pytest.approx(0.01 + 0.5 + 63 * 0.01)
    assert shortage([line]) is None


def test_only_what_is_short_is_named(tiny: Callable[..., Any]) -> None:
    """Someone has to go and get exactly that."""
    bundles = plan_of(tiny("peers.share_identical=false", "hardware.gpus_per_peer=1"))
    cpu, gpu = weigh(bundles, [{"CPU": 4.0, "GPU": 1.0, "memory": 1e9}, {"CPU": 8.0}])
    assert (cpu.resource, cpu.needed, cpu.available) == ("CPU", pytest.approx(1.52), 12)
    assert (cpu.largest, cpu.roomiest, cpu.short) == (0.5, 8, 0)
    assert (gpu.resource, gpu.needed, gpu.available, gpu.largest) == ("GPU", 3, 1, 1)
    assert gpu.short == 2
    assert "CPU" not in str(shortage([cpu, gpu]))


def test_a_bundle_larger_than_any_node_is_short_however_many_nodes_there_are(
    tiny: Callable[..., Any],
) -> None:
    """Such a group would stay pending for ever, without an error."""
    (line,) = weigh(plan_of(tiny("hardware.cpus_per_peer=16")), [{"CPU": 8.0}] * 10)
    assert (line.available, line.largest, line.roomiest, line.short) == (80, 16, 8, 8)
    assert shortage([line]) is not None


def test_a_cluster_without_nodes_or_without_a_kind_lacks_it_all(tiny: Callable[..., Any]) -> None:
    """No GPU is 0 GPUs."""
    bundles = plan_of(tiny("hardware.gpus_per_peer=0.5"))
    assert [line.short for line in weigh(bundles, [])] == [pytest.approx(0.54), 0.5]
    assert shortage(weigh(bundles, [{"CPU": 4.0}]))
    assert shortage(weigh(bundles, [{"CPU": 4.0, "GPU": 0.5}])) is None
