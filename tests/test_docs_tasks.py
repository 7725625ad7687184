"""The commands of docs/tasks.md must be ones that a user can type: a recipe and overrides that load."""

import shlex
from pathlib import Path

import pytest

from turncoat.jobs.arguments import RECIPES
from turncoat.platform.config.loading import load
from turncoat.platform.registry import TASKS

PAGE = (Path(__file__).parents[1] / "docs" / "tasks.md").read_text()
COMMANDS = [line.strip() for line in PAGE.splitlines() if line.startswith("    turncoat run ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_loads(command):
    _, _, recipe, *overrides = shlex.split(command)
    load(recipe, overrides, RECIPES)


def test_every_kind_is_on_the_page():
    assert all(f"| `{kind}" in PAGE and f"### {kind}\n" in PAGE for kind in TASKS.builtin)
