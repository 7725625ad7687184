"""Which resources an experiment asks a cluster for, and whether the cluster has them: pure arithmetic, no Ray."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import peer_name

Resources = dict[str, float]

DRIVER: Resources = {"CPU": 0.01}
"""Bundle 0. The driver waits and writes; the bundle marks its place rather than buys it time."""


@dataclass(frozen=True)
class Bundle:
    """What one owner needs, on one node. role: driver, policy (holds a model), twin, or adversary."""

    owner: str
    role: str
    resources: Resources


@dataclass(frozen=True)
class Cast:
    """Who plays what. leads: peer -> the policy it computes, for itself and its twins. twins: peer -> its lead."""

    leads: dict[int, str]
    twins: dict[int, int]
    adversaries: dict[int, int]
    """Malicious peer -> the lead whose policy it samples from."""


def cast_of(experiment: Experiment) -> Cast:
    """Honest peers that hold the same policy and decide alike are twins: the first of them computes for all.

    With `peers.share_identical` off every honest peer is a lead. A malicious peer samples from an honest peer of its own
    policy, whose weights are the same as its own would be, or from the first honest one if its policy is nobody else's.
    """
    leads: dict[int, str] = {}
    twins: dict[int, int] = {}
    adversaries: dict[int, int] = {}
    first: dict[str, int] = {}
    for peer in range(experiment.peers.count):
        policy = experiment.policy_of(peer)
        if experiment.is_malicious(peer):
            adversaries[peer] = first.get(policy, 0)
        elif experiment.peers.share_identical and policy in first:
            twins[peer] = first[policy]
        else:
            leads[peer] = policy
            first.setdefault(policy, peer)
    return Cast(leads, twins, adversaries)


def plan_of(experiment: Experiment) -> list[Bundle]:
    """The experiment's one placement group: bundle 0 the driver's, then one per peer in order."""
    hardware, cast = experiment.hardware, cast_of(experiment)
    whole: Resources = {"CPU": hardware.cpus_per_peer * (1 + hardware.rollout_workers if hardware.split else 1)}
    if hardware.gpus_per_peer:
        whole["GPU"] = hardware.gpus_per_peer
    bundles = [Bundle("driver", "driver", DRIVER)]
    for peer in range(experiment.peers.count):
        role = "policy" if peer in cast.leads else "twin" if peer in cast.twins else "adversary"
        bundles.append(Bundle(peer_name(peer), role, whole if role == "policy" else {"CPU": hardware.cpus_per_twin}))
    return bundles


@dataclass(frozen=True)
class Line:
    """One kind of resource: what is needed and what is there. largest: the biggest bundle, roomiest: the biggest node."""

    resource: str
    needed: float
    available: float
    largest: float
    roomiest: float

    @property
    def short(self) -> float:
        """How much is missing in all, or on the roomiest node for the largest bundle; 0 if it fits."""
        return max(0.0, self.needed - self.available, self.largest - self.roomiest)


def weigh(bundles: Sequence[Bundle], nodes: Sequence[Mapping[str, float]]) -> list[Line]:
    """Needed against available, per kind of resource, over the nodes' free resources."""
    needed: Counter[str] = Counter()
    for bundle in bundles:
        needed.update(bundle.resources)
    return [
        Line(
            resource,
            needed[resource],
            sum(node.get(resource, 0.0) for node in nodes),
            max(bundle.resources.get(resource, 0.0) for bundle in bundles),
            max((node.get(resource, 0.0) for node in nodes), default=0.0),
        )
        for resource in sorted(needed)
    ]


def shortage(lines: Sequence[Line]) -> str | None:
    """One line that names what is missing; None if the plan fits."""
    missing = [
        f"{line.resource}: needed {line.needed:g} (largest bundle {line.largest:g}), "
        f"available {line.available:g} (largest node {line.roomiest:g}), short {line.short:g}"
        for line in lines
        if line.short > 1e-9
    ]
    return "; ".join(missing) or None
