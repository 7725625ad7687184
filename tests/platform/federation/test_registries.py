"""The kinds of the federation's families, as a config names them."""

import pytest

from turncoat.platform.registry import AGGREGATORS, FEDERATED_ATTACKS, ROBUST, Registry


@pytest.mark.parametrize("registry", [AGGREGATORS, ROBUST, FEDERATED_ATTACKS], ids=lambda r: r.family)
def test_every_shipped_kind_imports_and_agrees_with_its_settings(registry: Registry) -> None:
    """A kind that is listed but cannot be had, or whose config is read by another model."""
    for kind in registry.builtin:
        assert registry.resolve(kind).Settings is registry.settings_of(kind)
        assert registry.settings_of(kind).model_fields["kind"].default == kind
        assert registry.build(registry.parse(kind)).settings.kind == kind


def test_rules_have_a_stage() -> None:
    """The config sorts out from it whether rules stand in an order that means what it says."""
    stages = {kind: ROBUST.resolve(kind).stage for kind in ROBUST.builtin}
    assert stages == {
        "norm_clip": "clip",
        "krum": "select",
        "multi_krum": "select",
        "trimmed_mean": "weigh",
        "coordinate_median": "weigh",
        "geometric_median": "weigh",
        "fltrust": "weigh",
    }
    assert [kind for kind in ROBUST.builtin if ROBUST.resolve(kind).rooted] == ["fltrust"]
