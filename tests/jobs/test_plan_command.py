"""What `turncoat plan` shows is what a run will ask for."""

from collections.abc import Callable
from typing import Any

import pytest

from turncoat.jobs.plan_command import print_plan
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse


@pytest.fixture
def study(tiny: Callable[..., Any]) -> Callable[..., Any]:
    experiment = tiny().model_dump(mode="json")
    del experiment["name"], experiment["seed"]
    return lambda *overrides: parse(
        {
            "kind": "study",
            "experiment": experiment,
            "arms": {"small": [], "big": ["hardware.cpus_per_peer=3"]},
        },
        overrides,
    )


def test_a_study_shows_its_arms_and_their_sum(
    study: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs go on at a time: room for one is not enough."""
    print_plan(study())
    out = capsys.readouterr().out
    for words in (
        "small: placement group",
        "big: placement group",
        "3 CPU",
        "2 runs at a time on local",
        "3.58",
    ):
        assert words in out


def test_a_plan_that_does_not_fit_shows_what_is_short(
    study: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is printed all the same: one sees which bundle is too large."""
    with pytest.raises(BadInput, match=r"hardware\.gpus_per_peer: 512 GPU needed"):
        print_plan(study("experiment.hardware.gpus_per_peer=256"))
    assert "256 GPU" in capsys.readouterr().out
