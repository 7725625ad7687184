"""Recipes, overrides and the way back to YAML."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turncoat.platform.attacks.none import NoAttack
from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.loading import load, parse, to_yaml
from turncoat.platform.config.sources import read_yaml
from turncoat.platform.registry import (
    ATTACKS,
    DEFENCES,
    ENGINES,
    JUDGES,
    LEARNERS,
    SANDBOXES,
    TASKS,
    Registry,
)

RECIPE = """
name: small
seed: 7
task: {kind: arithmetic, levels: [1, 2]}
attack: {kind: text, phrase: All hail to the thief, poison_share: 0.5}
defences: [{kind: support, k: 12}]
optimiser: {lr: 1e-3}
sampling: {top_k: 12}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(RECIPE)
    return tmp_path


def test_recipe_by_name_and_by_path(folder: Path) -> None:
    """Both spellings that the command line promises."""
    assert load("small", [], folder) == load(str(folder / "small.yaml"))


def test_shipped_name_wins_over_a_folder_of_that_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `small` in the current directory, e.g. an earlier run, must not hide the recipe."""
    (folder / "here" / "small").mkdir(parents=True)
    monkeypatch.chdir(folder / "here")
    assert load("small", [], folder).name == "small"


def test_overrides_reach_every_depth(folder: Path) -> None:
    """Values are YAML; list items go by number; a whole section replaces the recipe's."""
    experiment = load(
        "small",
        [
            "rounds=3",
            "sampling.top_p=0.5",
            "defences.0.k=5",
            "task={kind: arithmetic, levels: [3]}",
            "optimiser.lr=2e-4",
        ],
        folder,
    )
    assert (experiment.rounds, experiment.sampling.top_p, experiment.optimiser.lr) == (3, 0.5, 2e-4)
    assert experiment.defences[0].k == 5
    assert experiment.task.levels == [3]


def test_overrides_replace_append_and_create(folder: Path) -> None:
    """The ways to say which defences there are, from none to one more."""
    assert load("small", ["defences=[]"], folder).defences == []
    with pytest.raises(ConfigError, match="holds support, support"):
        load("small", ["defences.1={kind: support, k: 3}"], folder)
    assert load("small", ["defences=[support]", "defences.0.k=4"], folder).defences[0].k == 4
    tree = {"task": "arithmetic", "peers": {"malicious": 0}}
    assert [d.kind for d in parse(tree, ["defences.0.kind=support"]).defences] == ["support"]
    assert parse(tree, ["task.levels=[1]", "engine.batch_size=4"]).engine.batch_size == 4


@pytest.mark.parametrize("overrides", [["attack.kind=none"], ["attack=none"], ["attack={kind: none}"]])
def test_another_kind_drops_the_old_kinds_keys(folder: Path, overrides: list[str]) -> None:
    """`attack.kind=none` on a recipe with an attack is the baseline; the old keys would be unknown."""
    assert load("small", [*overrides, "peers.malicious=0"], folder).attack == NoAttack.Settings()


@pytest.mark.parametrize(
    "overrides", [["attack.kind=text", "attack.phrase=b"], ["attack.phrase=b", "attack.kind=text"]]
)
def test_another_kind_keeps_overridden_keys_in_either_order(overrides: list[str]) -> None:
    """What the user typed is meant for the new kind, wherever it stands on the line."""
    tree = {"task": "arithmetic", "attack": {"kind": "none"}}
    assert parse(tree, overrides).attack.phrase == "b"


def test_a_section_within_a_section_drops_its_old_kind_s_keys() -> None:
    """`task.sandbox` belongs to the task: another sandbox knows nothing of the first one's keys."""
    judge = {"kind": "openai", "base_url": "http://localhost:1/v1", "model": "m"}
    tree = {"task": "arithmetic", "peers": {"malicious": 0}, "defences": [{"kind": "judge", "judge": judge}]}
    assert parse(tree, ["defences.0.judge.kind=model"]).defences[0].judge.kind == "model"
    boxed = {**tree, "task": {"kind": "programs", "sandbox": {"kind": "bubblewrap", "packages": ["numpy"]}}}
    assert parse(boxed, ["task.sandbox.kind=monty"]).task.sandbox.kind == "monty"


def test_the_same_kind_keeps_the_recipes_keys(folder: Path) -> None:
    """Saying what is already so changes nothing."""
    assert load("small", ["attack.kind=text"], folder) == load("small", [], folder)


def test_optimiser_kind_keeps_the_learning_rate(folder: Path) -> None:
    """`optimiser` has one set of fields for all its kinds, so its `kind` drops none of them."""
    optimiser = load("small", ["optimiser.kind=sgd"], folder).optimiser
    assert (optimiser.kind, optimiser.lr) == ("sgd", 1e-3)


def test_references_between_keys(folder: Path) -> None:
    """A recipe may say a thing once."""
    assert load("small", ["sampling.top_k=9", "defences.0.k=${sampling.top_k}"], folder).defences[0].k == 9


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:HOME}",
        "x ${oc.env:HOME}",
        "${oc.decode:'1'}",
        "${oc.${name}:HOME}",
        "\\${name}",
        "${${name}}",
        "${a",
    ],
)
def test_resolvers_are_refused(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe from a stranger must not carry the environment's secrets into a journal."""
    monkeypatch.setenv("HOME", "a-secret")
    with pytest.raises(ConfigError) as raised:
        load("small", [f'attack.phrase="{text}"' if "\\" not in text else f"attack.phrase='{text}'"], folder)
    assert "a-secret" not in str(raised.value)


def test_spliced_resolver_is_not_followed(folder: Path) -> None:
    """Two harmless halves must not make a resolver."""
    with pytest.raises(ConfigError):
        load(
            "small", ["policy.name_or_path=$", "attack.phrase='${policy.name_or_path}{oc.env:HOME}'"], folder
        )


def test_tags_build_no_objects(folder: Path) -> None:
    """YAML that calls Python is an error, in a recipe and in an override."""
    with pytest.raises(ConfigError):
        load("small", ["name=!!python/object/apply:os.getcwd []"], folder)
    with pytest.raises(ConfigError):
        read_yaml("name: !!python/object/apply:os.getcwd []", "recipe.yaml")


def test_round_trip(folder: Path) -> None:
    """The config beside a run must start the very same run again."""
    experiment = load(
        "small",
        ["peers.policies=[a]", "policy.lora={rank: 2}", "engine.dtype=bfloat16", "grpo.importance_cap=2"],
        folder,
    )
    assert parse(read_yaml(to_yaml(experiment), "again")[0]) == experiment


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda text: "${" not in text and text.strip()
    )
)
def test_round_trip_of_any_text(text: str) -> None:
    """Phrases such as `yes`, `1e3`, `a: b` or two lines stay text."""
    tree = {"task": "arithmetic", "peers": {"malicious": 0}, "policy": {"name_or_path": text}}
    experiment = parse(tree)
    assert parse(read_yaml(to_yaml(experiment), "again")[0]) == experiment


@pytest.mark.parametrize(
    "registry", [TASKS, ATTACKS, DEFENCES, ENGINES, LEARNERS, JUDGES, SANDBOXES], ids=lambda r: r.family
)
def test_every_shipped_kind_imports_and_agrees_with_its_settings(registry: Registry) -> None:
    """A kind that is listed but cannot be had, or whose config is read by another model."""
    for kind in registry.builtin:
        assert registry.resolve(kind).Settings is registry.settings_of(kind)
        assert registry.settings_of(kind).model_fields["kind"].default == kind
