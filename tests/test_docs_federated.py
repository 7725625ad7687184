"""The commands of docs/federated.md must be ones that a user can type, and its tables must be complete."""

import shlex
from pathlib import Path

import pytest

from turncoat.jobs.arguments import RECIPES
from turncoat.platform.config.loading import load
from turncoat.platform.federation.accounting import count, paper_bytes
from turncoat.platform.registry import AGGREGATORS, COMPRESSORS, PARTITIONS

PAGE = (Path(__file__).parents[1] / "docs" / "federated.md").read_text()
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("turncoat run ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_loads(command):
    _, _, recipe, *overrides = shlex.split(command, comments=True)
    load(recipe, [one for one in overrides if "=" in one], RECIPES)


@pytest.mark.parametrize("registry", [PARTITIONS, AGGREGATORS, COMPRESSORS], ids=lambda one: one.family)
def test_every_kind_is_in_a_table(registry):
    assert [kind for kind in registry.builtin if f"| `{kind}` |" not in PAGE] == []


def test_the_paper_s_rows_are_what_our_accounting_gives():
    """To a digit, from N and the entries that follow from their megabytes."""
    weights = 3_397_103_616
    lines = [line for line in PAGE.splitlines() if line.startswith(("| 100 %", "| 50 %", "| 5 %"))]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 3
    for _, megabytes, entries, ratio, in_bytes in rows:
        sent = round(float(megabytes) * 1e6 / paper_bytes(1))
        assert f"{sent / 1e6:.1f} M" == entries
        assert count(weights, sent) == pytest.approx(float(ratio), rel=2e-3)
        assert 2 * weights / paper_bytes(sent) == pytest.approx(float(in_bytes), rel=5e-3)
