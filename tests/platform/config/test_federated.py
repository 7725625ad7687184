"""Configs of federations: what does not fit is said in one line, before anything starts."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.federated import ServerStep
from turncoat.platform.config.loading import load, parse, to_yaml
from turncoat.platform.registry import AGGREGATORS, COMPRESSORS, PARTITIONS

RECIPES = Path(__file__).parents[3] / "jobs" / "recipes"
TREE = {"kind": "federated", "task": "arithmetic", "rounds": 4, "clients": {"count": 4}}


def made(*overrides: str) -> Any:
    return parse(TREE, overrides)


BAD = {
    "all malicious": (["clients.malicious=4", "lie=sign_flip"], ["clients.malicious", "4", "at most", "3"]),
    "too many a round": (["clients.per_round=5"], ["clients.per_round", "5", "at most", "4"]),
    "absent later": (["clients.absent={5: [0]}"], ["clients.absent", "5: [0]", "rounds 1 to 4", "0 to 3"]),
    "absent nobody": (["clients.absent={1: [4]}"], ["clients.absent", "1: [4]", "clients 0 to 3"]),
    "half precision": (["policy.dtype=bfloat16"], ["policy.dtype", "bfloat16", "float32"]),
    "A of nothing": (["adapters=freeze_a"], ["adapters", "freeze_a", "policy.lora"]),
    "blind oracle": (
        ["clients.malicious=1", "lie={kind: little_is_enough, oracle: true}"],
        ["lie.oracle", "hardware.clients_per_process", "1", "4 or more"],
    ),
    "central attack": (["kind=centralised", "clients.malicious=1", "lie=sign_flip"], ["centralised", "is 0"]),
    "idle attackers": (["clients.malicious=1"], ["clients.malicious", "attack.kind", "lie"]),
    "attack on a swarm": (
        ["clients.malicious=1", "attack=copycat"],
        ["attack.kind", "copycat", "allowed are", "'text'"],
    ),
    "long buffer": (
        ["grpo.overlong_buffer=99", "sampling.max_new_tokens=64"],
        ["grpo.overlong_buffer", "99", "at most", "64"],
    ),
    "order of rules": (
        ["robust=[krum, norm_clip]"],
        ["robust", "krum (select)", "norm_clip (clip)", "clip, th"],
    ),
    "two that weigh": (["robust=[fltrust, geometric_median]"], ["robust", "fltrust (weigh)", "one rule"]),
    "dense budget": (
        ["compression=dense", "budget.share=0.5"],
        ["budget.share", "0.5", "dense", "allowed is 1"],
    ),
    "no budget": (["budget.share=0"], ["budget.share", "0", "greater than 0"]),
    "unknown rule": (["robust=[krumm]"], ["robust.0", "'krumm'", "'krum'"]),
    "unknown key": (["clients.counts=3"], ["clients", "counts", "count"]),
    "feedback on weights": (
        ["compression={kind: dense, send: weights}", "error_feedback=1"],
        ["error_feedback", "1", "allowed"],
    ),
    "adapters that never begin": (
        ["compression=sparsyfed", "policy.lora={rank: 2}"],
        ["compression.power", "1.25", "policy.lora", "allowed is 1"],
    ),
    "nothing in float32": (
        ["server={kind: adam, epsilon: 1e-60}"],
        ["server.epsilon", "1e-60", "0.000000000001"],
    ),
    "two ks": (
        ["compression={kind: top_k, share: 0.1, entries: 5}"],
        ["compression", "share is 0.1", "entries is 5", "one of them"],
    ),
    "more than a chunk": (
        ["compression={kind: sparse_loco, entries: 5000}"],
        ["compression", "entries is 5000", "at most", "4096"],
    ),
    "prior of no task": (
        ["aggregation={kind: task_accuracy, tasks: [sums], priors: {sms: 2}}"],
        ["aggregation", "priors", "'sms'", "sums"],
    ),
    "feedback on ulps": (
        ["compression={kind: dense, values: ulp}", "error_feedback=0.5"],
        ["error_feedback", "0.5", "allowed"],
    ),
}


@pytest.mark.parametrize(("overrides", "parts"), BAD.values(), ids=BAD)
def test_a_mistake_is_one_line_with_field_value_and_what_is_allowed(
    overrides: list[str], parts: list[str]
) -> None:
    """A federation is minutes of work: what cannot go well must not begin, and must be findable."""
    with pytest.raises(ConfigError) as error:
        made(*overrides)
    message = str(error.value)
    assert "\n" not in message.strip()
    missing = [part for part in parts if part not in message]
    assert not missing, message


def test_a_config_is_kept_whole() -> None:
    """Resume and report read it back: rounds are numbers there too."""
    one = made(
        "clients.absent={2: [0, 3]}", "robust=[norm_clip, krum]", "lie=sign_flip", "clients.malicious=1"
    )
    again = parse(yaml.safe_load(to_yaml(one)))
    assert again == one
    assert again.clients.absent == {2: [0, 3]}


@pytest.mark.parametrize("family", ["aggregation", "compression", "partition"])
def test_every_kind_is_kept_whole(family: str) -> None:
    """Each process of a run gets the config written out in full, and reads it again."""
    kinds = {"aggregation": AGGREGATORS, "compression": COMPRESSORS, "partition": PARTITIONS}[family].builtin
    more = {"shards": "rows: ['0', '1', '2', '3']", "top_k": "entries: 5"}
    for kind in kinds:
        one = made(f"{family}={{kind: {kind}, {more.get(kind, '')}}}")
        assert parse(one.model_dump(mode="json")) == one


def test_participants_are_a_matter_of_seed_and_round() -> None:
    """Drawn anew each round, the same in every process, less who is marked absent."""
    one = made("clients.count=8", "clients.per_round=3", "rounds=40", "clients.absent={7: [0,1,2,3,4,5]}")
    drawn = [one.participants(round) for round in range(1, 41)]
    again = parse(one.model_dump(mode="json"))
    assert [again.participants(round) for round in range(1, 41)] == drawn
    assert all(found == sorted(set(found)) for found in drawn)
    assert {len(found) for at, found in enumerate(drawn) if at != 6} == {3}
    assert set(drawn[6]) <= {6, 7}
    assert {client for found in drawn for client in found} == set(range(8))
    assert len({tuple(found) for found in drawn}) > 15
    other = made("clients.count=8", "clients.per_round=3", "rounds=40", "seed=1")
    assert [other.participants(round) for round in range(1, 41)] != drawn


@pytest.mark.parametrize(("kind", "learners"), [("centralised", 1), ("local_only", 4), ("federated", 4)])
def test_references_keep_their_optimiser_and_never_miss_a_round(kind: str, learners: int) -> None:
    """Central training that lost its momentum every round would be a reference for nothing."""
    one = made(f"kind={kind}", "clients.absent={1: [0]}", "clients.per_round=2")
    assert one.learners == learners
    assert one.keeps_optimiser == (kind != "federated")
    assert (one.participants(1) == list(range(learners))) == (kind != "federated")
    rooted = made(f"kind={kind}", "robust=[fltrust]")
    assert rooted.has_root == (kind == "federated"), "a process for a client that nobody asks"


def test_sparse_loco_is_compared_as_published() -> None:
    """Its error feedback takes the place of outer momentum (arXiv 2508.15706): both would be no baseline."""
    study = load("federated-compare", folder=RECIPES)
    one = study.run_of("sparse-loco", 0)
    assert one.compression.kind == "sparse_loco"
    assert one.server == study.run_of("uniform", 0).server == ServerStep()


def test_reading_a_config_takes_no_torch() -> None:
    """See tests/test_layout.py; a federation's config reads kinds of six more families."""
    code = (
        "import sys; from turncoat.platform.config.loading import parse; "
        "parse({'kind': 'federated', 'task': 'arithmetic', 'robust': ['krum'], 'lie': 'sign_flip', "
        "'clients': {'malicious': 1}, 'partition': 'by_level', 'compression': 'sparse_loco'}); "
        "print(sorted({'torch', 'ray', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
