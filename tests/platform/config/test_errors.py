"""Wrong configs: each is one line that names the field, the value and what is allowed."""

from pathlib import Path
from typing import NamedTuple

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import load
from turncoat.platform.registry import TASKS

RECIPE = """\
name: small
task:
  kind: arithmetic
attack: {kind: text}
defences:
- {kind: support}
"""


class Wrong(NamedTuple):
    """A mistake, by overrides or by a whole recipe, and what the line must hold."""

    name: str
    overrides: list[str]
    holds: list[str]
    recipe: str = RECIPE


WRONG = [
    Wrong(
        "typo in a key", ["peers.cuont=5"], ["peers.cuont: unknown key; did you mean 'count'?", "malicious"]
    ),
    Wrong("infinity", ["optimiser.lr=.inf"], ["optimiser.lr: inf is not allowed", "finite number"]),
    Wrong("a relative module", ["attack=.mine:Attack"], ["attack: cannot import '.mine:Attack'"]),
    Wrong("typo at the top", ["ronds=5"], ["ronds: unknown key; did you mean 'rounds'?"]),
    Wrong("typo in a kind's key", ["attack.phrse=x"], ["attack.phrse: unknown key; did you mean 'phrase'?"]),
    Wrong("typo in a list", ["defences.0.slac=1"], ["defences.0.slac: unknown key", "Allowed: kind"]),
    Wrong(
        "unknown attack",
        ["attack.kind=txt"],
        ["attack.kind: unknown kind 'txt'; did you mean 'text'?", "none"],
    ),
    Wrong("unknown attack, short form", ["attack=txt"], ["attack: unknown kind 'txt'; did you mean 'text'?"]),
    Wrong("no kind", ["attack={phrase: x}"], ["attack: needs a `kind`", "none, text"]),
    Wrong("no task", [], ["task: missing", "arithmetic, gsm8k"], "attack: text\n"),
    Wrong(
        "class that is not there",
        ["attack.kind=nowhere:Class"],
        ["attack.kind: cannot import 'nowhere:Class'"],
    ),
    Wrong(
        "class that is no attack", ["attack.kind=pathlib:Path"], ["attack.kind: 'pathlib:Path' is no class"]
    ),
    Wrong(
        "wrong type", ["peers.count=ten"], ["peers.count: 'ten' is not allowed; it should be a valid integer"]
    ),
    Wrong("too small", ["peers.count=1"], ["peers.count: 1 is not allowed", "greater than or equal to 2"]),
    Wrong("number for a section", ["peers=4"], ["peers: 4 is not allowed", "a section"]),
    Wrong(
        "unknown topology",
        ["topology=diagonal"],
        ["topology: 'diagonal' is not allowed", "vertical, horizontal"],
    ),
    Wrong("uneven slices", ["group_size=13"], ["group_size is 13", "peers.count = 4"]),
    Wrong("nobody honest", ["peers.malicious=4"], ["peers.malicious is 4", "at most", "3"]),
    Wrong("attackers without attack", ["attack.kind=none"], ["attack.kind is 'none'", "peers.malicious=0"]),
    Wrong(
        "support in a mixed swarm",
        ["peers.policies=[tiny-0.3m, tiny-1m]"],
        ["'support'", "homogeneous", "peers.policies"],
    ),
    Wrong(
        "union", ["policy.lora={target_modules: some}"], ["policy.lora.target_modules: 'some'", "all-linear"]
    ),
    Wrong("no value", ["rounds"], ["'rounds' is no override", "key=value"]),
    Wrong("broken value", ["defences=[{kind"], ["defences: '[{kind' is no YAML value"]),
    Wrong("item out of range", ["defences.3.k=1"], ["defences: there is no item '3'", "0 to 1"]),
    Wrong("reference to nothing", ["name=${nmae}"], ["name: Interpolation key 'nmae' not found"]),
    Wrong(
        "unknown kind of experiment",
        ["kind=decentralized"],
        ["kind: unknown kind", "did you mean 'decentralised'?"],
    ),
    Wrong("broken YAML", [], ["recipe.yaml line 2: "], "name: small\ntask: arithmetic: 3\n"),
    Wrong("doubled key", [], ["recipe.yaml line 3: found duplicate key name"], "name: a\nseed: 1\nname: b\n"),
    Wrong("broken reference", [], ["task.kind: ", "recipe.yaml line 3"], "name: a\ntask:\n  kind: ${a\n"),
    Wrong(
        "key in the file",
        [],
        ["(recipe.yaml line 3)", "task.levls"],
        "name: a\ntask: {kind: arithmetic,\n  levls: 1}\n",
    ),
    Wrong("list for a recipe", [], ["recipe.yaml: needs keys and values"], "- 1\n"),
    Wrong("control character", [], ["recipe.yaml line 2: control characters"], "name: a\ntask: \x01\n"),
    Wrong("missing dataset", ["task={kind: gsm8k, path: nowhere}"], ["task.path", "'nowhere'"]),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_wrong_config_is_one_clear_line(wrong: Wrong, tmp_path: Path) -> None:
    """A mistake that is not named at once costs the user a search, or an hour's run of something else."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(wrong.recipe)
    with pytest.raises(BadInput) as raised:
        # A task reads its files when it is built, which a run does before it starts anything.
        TASKS.build(load(str(recipe), wrong.overrides).task)
    message = str(raised.value)
    assert "\n" not in message
    for part in wrong.holds:
        assert part in message


def test_overrides_say_where_the_value_came_from(tmp_path: Path) -> None:
    """With a recipe and ten overrides, the culprit is quoted as it was typed."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE)
    with pytest.raises(BadInput, match=r"\(given as rounds=0\)"):
        load(str(recipe), ["rounds=0"])


def test_unknown_recipe_names_the_nearest(tmp_path: Path) -> None:
    """Names of recipes are typed by hand."""
    (tmp_path / "demo.yaml").write_text(RECIPE)
    with pytest.raises(BadInput, match=r"unknown recipe 'dmeo'; did you mean 'demo'\?.*path"):
        load("dmeo", [], tmp_path)
    with pytest.raises(BadInput, match=r"there is no file 'dmeo\.yaml'"):
        load("dmeo.yaml", [], tmp_path)
