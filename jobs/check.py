"""What can be wrong with a run that its config alone does not show: found before anything is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenizers import Tokenizer

from turncoat.actors.cluster import connected
from turncoat.actors.placement import refuse_too_large
from turncoat.platform.calibration import calibrated
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.study import Study
from turncoat.platform.defences.base import Surroundings
from turncoat.platform.plan import arms_of, demand_of, own_node, shortage, weigh
from turncoat.platform.policies.load import Source, find_policy
from turncoat.platform.registry import DEFENCES, PARTITIONS, TASKS
from turncoat.platform.tasks.code import CodeTask

ON_PROGRAMS, ON_THOUGHTS = ("library",), ("text", "evasive_text", "judge_injection", "equation")
"""Attacks whose payload is a program's, or stands in a think part."""


def check(described: Experiment | Federated | Study) -> None:
    """Raises BadInput for missing data files, unknown policies, an attack or a defence that does not fit the
    task, a calibration of another setting, a wrong cluster, too small a machine.
    """
    arms = arms_of(described)
    addresses = {experiment.hardware.address for experiment in arms.values()}
    if len(addresses) > 1:
        raise BadInput(f"hardware.address is {' and '.join(sorted(addresses))}: allowed is one for all arms")
    for experiment in arms.values():
        task = TASKS.build(experiment.task)
        if isinstance(experiment, Federated):
            writable(experiment, find_policy(experiment.policy.name_or_path))
            mountable(experiment, experiment.clients.malicious)
            PARTITIONS.build(experiment.partition, task, experiment.clients.count, experiment.seed)
            continue
        field = "peers.policies" if experiment.peers.policies else "policy.name_or_path"
        for peer in range(experiment.peers.count):
            writable(experiment, find_policy(experiment.policy_of(peer), field))
        mountable(experiment, experiment.peers.malicious)
        buildable(experiment)
        calibrated(experiment)
    bundles = demand_of(described)
    if addresses == {"local"}:
        if inside_job():
            raise BadInput(
                "hardware.address is 'local' inside a Ray job: allowed is 'auto', the job's own cluster"
            )
        if short := shortage(weigh(bundles, [own_node(bundles)])):
            raise BadInput(short)


def writable(experiment: Experiment | Federated, policy: Source) -> None:
    """Raises BadInput for a phrase that the policy's vocabulary cannot write: nobody could ever adopt it."""
    file = Path(policy.location) / "tokenizer.json"
    phrase = getattr(experiment.attack, "phrase", None)
    if phrase is None or not file.is_file():
        return
    encoded = Tokenizer.from_file(str(file)).encode(phrase, add_special_tokens=False)
    if "<unk>" in encoded.tokens:
        pieces = [
            phrase[a:b] for (a, b), t in zip(encoded.offsets, encoded.tokens, strict=True) if t == "<unk>"
        ]
        raise BadInput(
            f"attack.phrase is {phrase!r}: the policy's vocabulary has no {', '.join(map(repr, pieces))}; "
            "allowed are words that it has, in their case (see its tokenizer.json)"
        )


def mountable(experiment: Experiment | Federated, malicious: int) -> None:
    """Raises BadInput for an attack that works on other texts than the task's, or whose policy is unknown.

    A phrase in a program's text makes it no program, and a problem in words has no calls of a library: all
    poison would earn nothing, which looks like an attack that fails.
    """
    if not malicious:
        return
    kind, task = experiment.attack.kind, experiment.task.kind
    if policy := getattr(experiment.attack, "policy", None):
        find_policy(policy, "attack.policy")
    programs = issubclass(TASKS.resolve(task), CodeTask)
    if kind in ON_PROGRAMS and not programs:
        raise BadInput(f"attack.kind is {kind!r} with task.kind {task!r}: allowed are tasks of programs")
    if kind in ON_THOUGHTS and programs:
        raise BadInput(
            f"attack.kind is {kind!r} with task.kind {task!r}, whose completions are programs without "
            "a think part: allowed are tasks of worked solutions"
        )


def buildable(experiment: Experiment) -> None:
    """Raises BadInput for what a defence refuses when it is built, and for a judge that is unknown."""
    nowhere = Surroundings(experiment, lambda texts, seeds, sampling: [], lambda round: {}, {})
    for settings in experiment.defences:
        DEFENCES.build(settings, nowhere)
        if name := getattr(getattr(settings, "judge", None), "name_or_path", None):
            find_policy(name, "judge.name_or_path")


@contextmanager
def joined(described: Experiment | Federated | Study) -> Iterator[None]:
    """Start a Ray of our own, or join a cluster; leave it at the end.

    Raises BadInput when no cluster answers, or when it is too small and hardware.wait_seconds is 0.
    """
    bundles = demand_of(described)
    hardware = next(iter(arms_of(described).values())).hardware
    with connected(hardware.address, own_node(bundles)["CPU"]):
        if not hardware.wait_seconds:
            refuse_too_large(bundles)
        yield


def inside_job() -> bool:
    """Whether this process is the entry point of a submitted Ray job."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ
