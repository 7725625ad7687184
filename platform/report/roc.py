"""The figure of ROC curves: whole, and in the corner of few false positives that decides in practice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from turncoat.platform.report.figures import COLOURS, DASHES, INK, MARKS, style, svg
from turncoat.platform.roc import Curve, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 1e-4
"""Where the logarithmic axis begins; what lies below stands at its edge."""


@dataclass(frozen=True)
class Drawn:
    """A curve. own: (stop rate, false-positive rate) of the run's threshold. colour: equal for the runs of
    one experiment. label: for the legend; None for a single run beside the pooled one, which is drawn thin.
    """

    curve: Curve
    own: tuple[Estimate, Estimate] | None
    colour: int
    label: str | None


def roc_figure(title: str, drawn: Sequence[Drawn]) -> bytes:
    """Two axes side by side; dots: the runs' own thresholds. Returns SVG.

    The right one has a logarithmic false-positive rate and shows only thresholds that exist, as steps. Curves
    without a positive or an honest completion are left out.
    """
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(9.4, 3.8), layout="constrained")
        whole, corner = figure.subplots(1, 2)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        for one in drawn:
            if not np.isnan(one.curve.area()):
                _draw(whole, one, "default")
                _draw(corner, one, "steps-post")
        whole.plot([0, 100], [0, 100], color=INK, linewidth=0.8, linestyle=":")
        chance = np.geomspace(LEAST, 1, 60)
        corner.plot(100 * chance, 100 * chance, color=INK, linewidth=0.8, linestyle=":")
        corner.set(xscale="log", xlim=(100 * LEAST, 100))
        corner.xaxis.set_major_formatter("{x:g}")
        for axes in (whole, corner):
            axes.set(xlabel="false positives (% of honest)", ylabel="stopped (%)", ylim=(-3, 103))
        if whole.get_legend_handles_labels()[1]:
            whole.legend(loc="lower right", framealpha=0)
        return svg(figure)


def _draw(axes: "Axes", one: Drawn, steps: Literal["default", "steps-post"]) -> None:
    x, y = one.curve.false_positive_rates, one.curve.stop_rates
    kept = _visible(x, y)
    axes.plot(
        100 * np.maximum(x[kept], LEAST / 10),
        100 * y[kept],
        color=COLOURS[one.colour % len(COLOURS)],
        linestyle=DASHES[one.colour % len(DASHES)],
        linewidth=1.8 if one.label else 0.7,
        alpha=0.9 if one.label else 0.4,
        label=one.label,
        drawstyle=steps,
    )
    if one.label and one.own and one.own[0].value is not None and one.own[1].value is not None:
        axes.plot(
            [100 * max(one.own[1].value, LEAST)],
            [100 * one.own[0].value],
            color=COLOURS[one.colour % len(COLOURS)],
            marker=MARKS[one.colour % len(MARKS)],
            markersize=5,
            clip_on=False,
        )


def _visible(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Indices of points that can be told apart: a curve has as many as there are completions."""
    cells = np.stack(
        [np.round(300 * np.log10(np.maximum(x, LEAST / 10))), np.round(1000 * x), np.round(500 * y)]
    )
    steps = np.flatnonzero(np.any(np.diff(cells, axis=1) != 0, axis=0))
    return np.unique(np.concatenate([[0], steps, steps + 1, [len(x) - 1]]))
