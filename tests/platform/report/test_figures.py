"""Figures: without a point there is no empty frame, and equal data give equal bytes."""

import base64
import subprocess
import sys
from dataclasses import replace
from typing import get_args

from turncoat.platform.records import Truth
from turncoat.platform.report.curves import Curve
from turncoat.platform.report.figures import (
    TRUTH_COLOURS,
    Dots,
    Trace,
    by_round,
    in_plane,
    score_histogram,
)


def svg(picture) -> str:
    return base64.b64decode(picture.image.removeprefix("data:image/svg+xml;base64,")).decode()


def test_nothing_to_draw_gives_no_figure():
    assert by_round("title", "y", [Trace(Curve((), ()), 0)]) is None
    assert score_histogram("support", {"honest": [], "poisoned": []}, 0.5) is None


def test_the_same_figure_gives_the_same_bytes():
    """A page that changes with every rendering cannot be kept under version control."""
    traces = [Trace(Curve((0, 10), (0.0, 0.9), ((0.0, 0.01), (0.87, 0.92))), 0, "held out", "points")]
    first, second = (by_round("Attack success", "%", traces) for _ in range(2))
    assert first == second
    assert first is not None
    assert first.title == "Attack success"
    assert svg(first).rstrip().endswith("</svg>")


def test_a_histogram_of_equal_scores_is_drawn():
    """A defence that gives every completion the same score is a finding, not a crash."""
    assert score_histogram("copy", {"honest": [0.0, 0.0], "poisoned": [0.0]}, 0.0) is not None
    assert score_histogram("copy", {"honest": [1.0] * 5}, None) is not None


def test_matplotlib_is_imported_only_to_draw():
    """Otherwise every command of the command line would pay for it."""
    script = "import sys, turncoat.platform.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_every_truth_has_a_colour_of_its_own():
    """A truth without one would end the report of a finished run; two of one colour look like one."""
    assert set(TRUTH_COLOURS) == set(get_args(Truth))
    assert len(set(TRUTH_COLOURS.values())) == len(TRUTH_COLOURS)
    assert score_histogram("copy", {truth: [0.1, 0.4] for truth in get_args(Truth)}, 0.2) is not None


def test_arms_in_a_plane_are_told_apart_beyond_the_number_of_colours():
    """The eighth arm of a comparison must not look like the first."""
    dots = [Dots((0.5,), arm, f"arm {arm}", (10.0**arm,), ((1.0, 2e9),), ((0.4, 0.6),)) for arm in (0, 7)]
    one, other = (svg(in_plane("title", "MB", "%", [replace(dot, label="arm", xs=(1.0,))])) for dot in dots)
    assert one != other
    picture = in_plane("title", "MB", "%", [*dots, Dots((0.3,), 2, "reference")])
    assert picture == in_plane("title", "MB", "%", [*dots, Dots((0.3,), 2, "reference")])
    assert in_plane("title", "MB", "%", []) is None
