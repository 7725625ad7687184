"""docs/federated-security.md must name every rule and lie, and its figures must be the aggregator's own."""

import re
import shlex
from pathlib import Path

import pytest

from turncoat.jobs.arguments import RECIPES
from turncoat.platform.config.loading import load
from turncoat.platform.federation.signals import Signal
from turncoat.platform.registry import AGGREGATORS, FEDERATED_ATTACKS, ROBUST

PAGE = (Path(__file__).parents[1] / "docs" / "federated-security.md").read_text()
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("turncoat run ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_loads(command):
    _, _, recipe, *overrides = shlex.split(command, comments=True)
    load(recipe, overrides, RECIPES)


@pytest.mark.parametrize("registry", [ROBUST, FEDERATED_ATTACKS], ids=lambda one: one.family)
def test_every_kind_is_in_a_table(registry):
    rows = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert [kind for kind in registry.builtin if f"`{kind}`" not in rows] == []


def test_what_a_claim_buys_is_what_the_aggregator_gives():
    """The table of w by s and K, to the digits that it shows."""
    aggregator = AGGREGATORS.build(AGGREGATORS.parse("signal_weighted"))
    rows = re.findall(r"^\| (0\.\d\d) \| (0\.\d{3}) \| (0\.\d{3}) \| (0\.\d{3}) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for s, *weights in rows:
        for count, weight in zip((5, 20, 100), weights, strict=True):
            sigmas = [float(s)] * (count - 1) + [0.5]
            signals = [Signal(k, 1, 8, 0.5, sigma, 1, 0.0) for k, sigma in enumerate(sigmas)]
            assert aggregator.weigh(signals)[-1] == pytest.approx(float(weight), abs=5e-4)
