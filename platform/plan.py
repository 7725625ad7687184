"""Which resources an experiment asks for, and whether a cluster has them: pure arithmetic, no Ray."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment, Hardware
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.study import Study
from turncoat.platform.ids import client_name, peer_name

Resources = dict[str, float]

FIELDS = {"CPU": "hardware.cpus_per_peer", "GPU": "hardware.gpus_per_peer"}
"""Where a plan's demand for a resource comes from."""
FEDERATED_FIELDS = {"CPU": "hardware.cpus_per_process", "GPU": "hardware.gpus_per_process"}
"""The same of a federation."""

DRIVER: Resources = {"CPU": 0.01}
"""Bundle 0. The driver waits and writes; the bundle marks its place rather than buys it time."""


@dataclass(frozen=True)
class Bundle:
    """What one owner needs, on one node.

    role: driver, policy (holds a model), twin, adversary, or judge; of a federation driver, server, clients.
    """

    owner: str
    role: str
    resources: Resources


@dataclass(frozen=True)
class Cast:
    """Who plays what. leads: peer -> the policy it computes. twins: peer -> the lead that computes it."""

    leads: dict[int, str]
    twins: dict[int, int]
    adversaries: dict[int, int]
    """Malicious peer -> the lead whose policy it samples from."""


def cast_of(experiment: Experiment) -> Cast:
    """Honest peers that hold the same policy and decide alike are twins: the first of them computes for all.

    With `peers.share_identical` off every honest peer is a lead. A malicious peer samples from an honest peer
    of its own policy, whose weights are the same as its own would be, or from the first honest one if its
    policy is nobody else's.
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


def plan_of(experiment: Experiment | Federated) -> list[Bundle]:
    """The experiment's placement group: bundle 0 the driver's, one per peer in order, then the judges'.

    Of a federation: the driver's, the server's if there is one, then one per process of clients.
    """
    if isinstance(experiment, Federated):
        return federated_plan(experiment)
    hardware, cast = experiment.hardware, cast_of(experiment)
    gpu_share(hardware)
    whole: Resources = {
        "CPU": hardware.cpus_per_peer * (1 + hardware.rollout_workers if hardware.split else 1)
    }
    if hardware.gpus_per_peer:
        whole["GPU"] = hardware.gpus_per_peer
    bundles = [Bundle("driver", "driver", DRIVER)]
    for peer in range(experiment.peers.count):
        role = "policy" if peer in cast.leads else "twin" if peer in cast.twins else "adversary"
        bundles.append(
            Bundle(peer_name(peer), role, whole if role == "policy" else {"CPU": hardware.cpus_per_twin})
        )
    judge: Resources = {"CPU": hardware.cpus_per_judge}
    if hardware.gpus_per_judge:
        judge["GPU"] = hardware.gpus_per_judge
    bundles += [Bundle(f"judge-{name}/{worker}", "judge", judge) for name, worker in judges_of(experiment)]
    return bundles


def federated_plan(experiment: Federated) -> list[Bundle]:
    """See `plan_of`."""
    hardware = experiment.hardware
    bundles = [Bundle("driver", "driver", DRIVER)]
    if experiment.kind == "federated":
        bundles.append(Bundle("server", "server", {"CPU": hardware.cpus_of_server}))
    whole: Resources = {"CPU": hardware.cpus_per_process}
    if hardware.gpus_per_process:
        whole["GPU"] = hardware.gpus_per_process
    return bundles + [Bundle(host_name(group), "clients", whole) for group in hosts_of(experiment)]


def hosts_of(experiment: Federated) -> list[list[int]]:
    """The clients of each process, in order.

    Where a robust rule compares with an update of the server's own, one more client makes it: the last one.
    """
    clients = list(range(experiment.learners + experiment.has_root))
    size = experiment.hardware.clients_per_process
    return [clients[first : first + size] for first in range(0, len(clients), size)]


def host_name(clients: Sequence[int]) -> str:
    """`client-03`, or `client-00-to-04` for a process with several."""
    first = client_name(clients[0])
    return first if len(clients) == 1 else f"{first}-to-{clients[-1]:02d}"


def judges_of(experiment: Experiment) -> list[tuple[str, int]]:
    """The workers of the experiment's judge services: (name of the defence, number of the worker)."""
    return [
        (name, worker)
        for name, settings in zip(experiment.labels(), experiment.defences, strict=True)
        for worker in range(getattr(settings, "workers", 0))
    ]


def gpu_share(hardware: Hardware) -> float:
    """GPUs of each process of a peer: its processes share the peer's by equal parts.

    Raises BadInput for a part that is more than one and not whole, which Ray does not hand out.
    """
    processes = 1 + hardware.rollout_workers if hardware.split else 1
    share = hardware.gpus_per_peer / processes
    if share > 1 and share % 1:
        raise BadInput(
            f"hardware.gpus_per_peer is {hardware.gpus_per_peer:g}, {share:g} for each of "
            f"{processes} processes: allowed are whole numbers, or less than 1, for each"
        )
    return share


def arms_of(described: Experiment | Federated | Study) -> dict[str, Experiment | Federated]:
    """The experiments to run, by name: a study's arms, each for its first seed, or the only one."""
    if isinstance(described, Study):
        return {arm: described.run_of(arm, described.seeds[0]) for arm in described.all_arms}
    return {described.name: described}


def demand_of(described: Experiment | Federated | Study) -> list[Bundle]:
    """All bundles that may be held at one moment: of a study, its `concurrency` most demanding runs'.

    GPUs count before CPUs.
    """
    plans = {arm: plan_of(run) for arm, run in arms_of(described).items()}
    chosen = list(plans.values())
    if isinstance(described, Study):
        chosen = sorted(
            (plans[arm] for arm, _ in described.runs()),
            key=lambda plan: (total(plan)["GPU"], total(plan)["CPU"]),
            reverse=True,
        )[: described.concurrency]
    return [bundle for plan in chosen for bundle in plan]


def total(bundles: Sequence[Bundle]) -> Counter[str]:
    """All that the bundles hold, by resource."""
    needed: Counter[str] = Counter()
    for bundle in bundles:
        needed.update(bundle.resources)
    return needed


def own_node(bundles: Sequence[Bundle]) -> Resources:
    """What a Ray of our own offers: the machine's GPUs, and as many CPUs as the bundles need.

    Logical CPUs are an account, not cores: peers that outnumber the cores take turns. On a cluster, which
    others use too, the account is the cluster's.
    """
    needed = total(bundles)
    node = {"CPU": float(max(os.cpu_count() or 1, ceil(needed["CPU"])))}
    if needed["GPU"]:
        import torch

        node["GPU"] = float(torch.cuda.device_count())
    return node


@dataclass(frozen=True)
class Line:
    """One kind of resource. field: of the config, which asks for it. largest: in one bundle, roomiest: on one
    node.
    """

    resource: str
    field: str
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
    needed = total(bundles)
    fields = FEDERATED_FIELDS if any(bundle.role == "clients" for bundle in bundles) else FIELDS
    return [
        Line(
            resource,
            fields[resource],
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
        f"{line.field}: {line.needed:g} {line.resource} needed ({line.largest:g} on one node), "
        f"allowed is what there is: {line.available:g} ({line.roomiest:g} on the roomiest node), "
        f"short of {line.short:g}"
        for line in lines
        if line.short > 1e-9
    ]
    return "; ".join(missing) or None
