"""If these fail, a study of hours stops in its last arm for a typo, or compares what is not comparable."""

from typing import Any

import pytest

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.loading import parse, to_yaml

SHARED = {"task": "arithmetic", "attack": "text", "defences": ["support"]}
ARMS = {"quiet": ["attack=none", "peers.malicious=0", "defences=[]"], "attack": ["defences=[]"], "check": []}


def study_of(**changes: Any) -> Any:
    base = {"kind": "study", "name": "s", "experiment": SHARED, "arms": ARMS, "baseline": "quiet"}
    return parse({**base, **changes})


def test_an_arm_is_the_shared_experiment_with_its_changes():
    """Arms differ in what they say, and in nothing else."""
    study = study_of(seeds=[3, 4])
    quiet, check = study.run_of("quiet", 4), study.run_of("check", 4)
    assert (quiet.name, quiet.seed, quiet.attack.kind, quiet.defences) == ("s-quiet", 4, "none", [])
    assert (check.name, check.seed, check.attack.kind) == ("s-check", 4, "text")
    assert [defence.kind for defence in check.defences] == ["support"]
    changed = {"name", "attack", "peers", "defences"}
    assert quiet.model_dump(exclude=changed) == check.model_dump(exclude=changed)


def test_a_study_loads_back_from_its_yaml():
    """It is written beside its runs, and resumed from there."""
    import yaml

    study = study_of()
    assert parse(yaml.safe_load(to_yaml(study))) == study


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"arms": {**ARMS, "bad": ["attack.kind=txt"]}}, ["arms.bad: attack.kind", "did you mean 'text'?"]),
        ({"arms": {**ARMS, "bad": ["peers.malicious=9"]}}, ["arms.bad: peers.malicious is 9"]),
        ({"arms": {**ARMS, "bad": ["nonsense"]}}, ["arms.bad: 'nonsense' is no override"]),
        ({"arms": {**ARMS, "bad": ["seed=5"]}}, ["arms.bad: seed is set by the study"]),
        ({"arms": {**ARMS, "bad": ["name=other"]}}, ["arms.bad: name is set by the study"]),
        ({"arms": {**ARMS, "../bad": []}}, ["../bad", "match pattern"]),
        ({"arms": {**ARMS, "..": []}}, ["'..'", "match pattern"]),
        ({"arms": {**ARMS, "a" * 64: []}}, ["arms.aaa", "name", "match pattern"]),
        ({"arms": {}}, ["arms: {} is not allowed"]),
        ({"baseline": "quite"}, ["baseline is 'quite'", "quiet, attack, check"]),
        ({"seeds": []}, ["seeds: [] is not allowed"]),
        ({"seeds": [0, 1, 0]}, ["seeds is [0, 1, 0]", "each seed once"]),
        ({"seeds": [0, -1]}, ["seeds.1: -1 is not allowed"]),
        ({"experiment": {**SHARED, "seed": 3}}, ["experiment.seed is set by the study"]),
        ({"experiment": {**SHARED, "name": "x"}}, ["experiment.name is set by the study"]),
        ({"experiment": {**SHARED, "ronds": 3}}, ["arms.quiet: ronds", "did you mean 'rounds'?"]),
        ({"concurrency": 0}, ["concurrency: 0 is not allowed"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_wrong_study_is_one_line_at_load(changes: dict[str, Any], parts: list[str]):
    """Every arm is checked before the first one runs, and the wrong one is named."""
    with pytest.raises(ConfigError) as raised:
        study_of(**changes)
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"defences": ["support", "support"]}, ["defences holds support, support", "each kind once"]),
        ({"sampling": {"top_k": 0}, "defences": ["support"]}, ["sampling.top_k is 0", "'support'"]),
        ({"hardware": {"cpus_per_twin": 0}}, ["hardware.cpus_per_twin: 0 is not allowed"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_what_would_fail_in_a_peer_s_process_fails_at_load(changes: dict[str, Any], parts: list[str]):
    """An actor's traceback, minutes later, is no answer to a wrong config."""
    with pytest.raises(ConfigError) as raised:
        parse({"task": "arithmetic", "attack": "text", **changes})
    assert all(part in str(raised.value) for part in parts)
