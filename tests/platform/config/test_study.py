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
        ({"arms": {}}, ["arms is {}: allowed is one or more"]),
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


GRID = {
    "attack": {"text": [], "gibberish": ["attack.poison_share=0.5", "attack.filler=gibberish"]},
    "defence": {"none": ["defences=[]"], "support": [], "k4": ["defences.0.k=4"]},
}


def grid_of(**changes: Any) -> Any:
    return study_of(**{"arms": {"quiet": ARMS["quiet"]}, "grid": GRID, **changes})


def test_a_grid_is_the_product_of_its_factors():
    """In the order of the factors, beside the arms of one's own; a cell changes what its levels change."""
    study = grid_of()
    cells = [f"{attack}.{defence}" for attack in GRID["attack"] for defence in GRID["defence"]]
    assert list(study.all_arms) == ["quiet", *cells]
    cell = study.run_of("gibberish.k4", 2)
    assert (cell.name, cell.seed) == ("s-gibberish.k4", 2)
    assert (cell.attack.poison_share, cell.defences[0].k) == (0.5, 4)
    assert study.run_of("text.none", 0).defences == []
    assert grid_of(arms={}, baseline=None).all_arms.keys() == set(cells)


def test_three_factors_are_allowed():
    study = grid_of(grid={**GRID, "peers": {"four": [], "six": ["peers.count=6"]}})
    assert len(study.all_arms) == 1 + 12
    assert study.run_of("text.support.six", 0).peers.count == 6


def test_skipped_cells_are_no_arms_and_keep_their_reason():
    """The first pattern that fits gives the reason; a cell that makes no sense need not even be an
    experiment.
    """
    defences = {**GRID["defence"], "odd": ["defences=[{kind: nonsense}]"]}
    study = grid_of(
        grid={**GRID, "defence": defences},
        skip={"text.odd": "never with text", "*.odd": "never", "gibberish.*4": "twice the same"},
    )
    assert study.skipped == {
        "text.odd": "never with text",
        "gibberish.odd": "never",
        "gibberish.k4": "twice the same",
    }
    assert not set(study.skipped) & set(study.all_arms)


def test_each_level_may_have_its_own_baseline():
    """Attacks differ in task and topology, and accuracy without attack is compared with the like."""
    arms = {"quiet": ARMS["quiet"], "other": [*ARMS["quiet"], "group_size=8"]}
    study = grid_of(arms=arms, baseline={"text": "quiet", "gibberish": "other"})
    assert study.baseline_of("text.k4") == "quiet"
    assert study.baseline_of("gibberish.none") == "other"
    assert study.baseline_of("quiet") is None
    partly = grid_of(baseline={"text": "text.none"})
    assert partly.baseline_of("text.k4") == "text.none"
    assert partly.baseline_of("text.none") is None
    assert partly.baseline_of("gibberish.k4") is None
    assert grid_of(baseline="quiet").baseline_of("gibberish.k4") == "quiet"


def test_some_cells_have_more_seeds_and_their_baseline_too():
    """A cell's seed without its baseline's would be compared with nothing."""
    study = grid_of(seeds=[0, 1], seeds_of={"text.*": [1, 2], "text.k4": [5]}, baseline={"text": "quiet"})
    assert study.seeds_for("gibberish.k4") == [0, 1]
    assert study.seeds_for("text.none") == [0, 1, 2]
    assert study.seeds_for("text.k4") == [0, 1, 2, 5]
    assert study.seeds_for("quiet") == [0, 1, 2, 5]
    runs = study.runs()
    assert len(runs) == len(set(runs)) == 3 * 2 + 2 * 3 + 2 * 4
    assert runs[:7] == [(arm, 0) for arm in study.all_arms]


def test_a_grid_loads_back_from_its_yaml():
    import yaml

    study = grid_of(skip={"*.k4": "why"}, seeds_of={"text.*": [7]}, baseline={"text": "quiet"})
    loaded = parse(yaml.safe_load(to_yaml(study)))
    assert loaded == study
    assert loaded.runs() == study.runs()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"grid": {"attack": GRID["attack"]}}, ["grid.attack", "1 factors", "two factors or more"]),
        ({"grid": {**GRID, "peers": {}}}, ["grid.peers has 0 levels"]),
        ({"grid": {**GRID, "peers": {"a.b": []}}}, ["a.b", "match pattern"]),
        ({"grid": {**GRID, "peers": {"x": ["ronds=3"]}}}, ["grid, text.none.x: ronds", "'rounds'"]),
        ({"skip": {"*.suport": "typo"}}, ["skip holds '*.suport'", "fits nothing"]),
        ({"arms": {}, "baseline": None, "skip": {"*": "all"}}, ["arms is {}", "allowed is one or more"]),
        ({"arms": {"text.k4": []}, "baseline": None}, ["arms.text.k4 is a cell of the grid too"]),
        ({"seeds_of": {"txt.*": [3]}}, ["seeds_of holds 'txt.*'", "fits nothing"]),
        ({"seeds_of": {"text.*": [3, 3]}}, ["seeds_of.text.* is [3, 3]", "each seed once"]),
        ({"baseline": {"txt": "quiet"}}, ["baseline holds 'txt'; did you mean 'text'?"]),
        ({"baseline": {"text": "quite"}}, ["baseline.text is 'quite'", "allowed are the arms quiet"]),
        ({"skip": {"text.none": "no"}, "baseline": "text.none"}, ["baseline is 'text.none'"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_wrong_grid_is_one_line_at_load(changes: dict[str, Any], parts: list[str]):
    """A pattern that fits nothing is a typo that would drop or repeat runs unnoticed."""
    with pytest.raises(ConfigError) as raised:
        grid_of(**changes)
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
