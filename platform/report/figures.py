"""Figures as SVG data URIs. matplotlib is imported when one is drawn, and no global state of it is touched.

The ground is transparent and the ink dark; the page inverts the lightness where the reader prefers a dark
one.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from turncoat.platform.report.curves import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008), less the yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Means of arms that lie on one another stay apart by their dashes and marks.
DASHES = ("-", "--", "-.", ":")
MARKS = "os^DvPX"
TRUTH_COLOURS = {
    "honest": COLOURS[0],
    "poisoned": COLOURS[1],
    "filler": COLOURS[3],
    "cheat": COLOURS[4],
    "lookalike": COLOURS[2],
}
INK = "#222222"

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#00000018",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "turncoat",  # the same figure gives the same bytes
}


class Picture(NamedTuple):
    """image: a data URI. title: what it shows, for those who do not see it."""

    title: str
    image: str


@dataclass(frozen=True)
class Trace:
    """A curve and how it is drawn. colour: an index into COLOURS. Without a label it is not in the legend."""

    curve: Curve
    colour: int
    label: str | None = None
    style: Literal["line", "dashed", "thin", "thick", "points"] = "line"


@dataclass(frozen=True)
class Dots:
    """Points in the plane, each with intervals both ways where they are known. joined: by a line, in order.

    Without xs, each of the ys is a level: a dashed line, for what has no place on the x-axis.
    """

    ys: tuple[float, ...]
    colour: int
    label: str
    xs: tuple[float, ...] = ()
    x_bounds: tuple[tuple[float, float] | None, ...] = ()
    y_bounds: tuple[tuple[float, float] | None, ...] = ()
    joined: bool = False


LOG_FROM = 20.0
"""An x-axis is logarithmic where its largest value is so many times its smallest."""


def by_round(title: str, y_label: str, traces: Sequence[Trace], share: bool = True) -> Picture | None:
    """Curves over rounds.

    `share`: values from 0 to 1, shown in percent. None when there is nothing to draw.
    """
    drawn = [trace for trace in traces if trace.curve.rounds]
    if not drawn:
        return None
    from matplotlib.ticker import MaxNLocator

    with style():
        figure, axes = _canvas(title, y_label, "round")
        scale = 100 if share else 1
        for trace in drawn:
            _draw(axes, trace, scale)
        if share:
            axes.set_ylim(-3, 103)
        else:
            low, high = axes.get_ylim()
            axes.set_ylim(min(0.0, low), high + 0.05 * abs(high))
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        if any(trace.label for trace in drawn):
            axes.legend(loc="best", framealpha=0)
        return Picture(title, _svg(figure))


def in_plane(title: str, x_label: str, y_label: str, dots: Sequence[Dots]) -> Picture | None:
    """Shares, in percent, against another figure. None when there is nothing to draw."""
    if not any(one.ys for one in dots):
        return None
    with style():
        figure, axes = _canvas(title, y_label, x_label)
        for one in dots:
            colour, values = COLOURS[one.colour % len(COLOURS)], [100 * y for y in one.ys]
            if not one.xs:
                for i, value in enumerate(values):
                    label = one.label if i == 0 else None
                    axes.axhline(value, color=colour, linestyle="--", linewidth=1.2, label=label)
                continue
            axes.errorbar(
                one.xs,
                values,
                xerr=_errors(one.xs, one.x_bounds) if one.x_bounds else None,
                yerr=_errors(one.ys, one.y_bounds, 100) if one.y_bounds else None,
                # As many marks as colours: shifted by one each time round, a pair comes back after all 49.
                fmt=MARKS[(one.colour + one.colour // len(COLOURS)) % len(MARKS)]
                + ("-" if one.joined else ""),
                markersize=4,
                capsize=2.5,
                linewidth=1.3,
                color=colour,
                label=one.label,
            )
        xs = [x for one in dots for x in one.xs]
        if xs and min(xs) > 0 and max(xs) / min(xs) >= LOG_FROM:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylim(-3, 103)
        axes.legend(loc="best", framealpha=0, ncols=1 if len(dots) <= len(COLOURS) else 2)
        return Picture(title, _svg(figure))


def _errors(
    values: Sequence[float], bounds: Sequence[tuple[float, float] | None], scale: float = 1
) -> list[list[float]]:
    """[2][n] how far the bounds lie below and above; 0 where there are none."""
    known = [found or (value, value) for value, found in zip(values, bounds, strict=True)]
    # A Wilson interval holds its rate, but rounding can put a bound a hair on the wrong side.
    return [
        [scale * max(0.0, value - low) for value, (low, _) in zip(values, known, strict=True)],
        [scale * max(0.0, high - value) for value, (_, high) in zip(values, known, strict=True)],
    ]


def score_histogram(
    defence: str, scores: Mapping[str, Sequence[float]], threshold: float | None
) -> Picture | None:
    """The scores that `defence` gave, by truth, each scaled to 100 %, and the threshold that decides.

    Scores are finite. None when there are none.
    """
    drawn = {truth: found for truth, found in scores.items() if len(found)}
    if not drawn:
        return None
    ends = [end for found in drawn.values() for end in (min(found), max(found))]
    if threshold is not None:
        ends.append(threshold)
    low, high = min(ends), max(ends)
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = [low + (high - low) * i / 40 for i in range(41)]
    with style():
        title = f"Scores of {defence}"
        figure, axes = _canvas(title, "share of completions (%, log scale)", "suspicion score")
        for truth, found in drawn.items():
            weights = [100 / len(found)] * len(found)
            colour = TRUTH_COLOURS[truth]
            label = f"{truth} (n = {len(found):,})"
            axes.hist(found, edges, weights=weights, histtype="stepfilled", color=colour, alpha=0.25)
            axes.hist(
                found, edges, weights=weights, histtype="step", color=colour, linewidth=1.4, label=label
            )
        if threshold is not None:
            axes.axvline(
                threshold, color=INK, linestyle="--", linewidth=1.2, label=f"threshold {threshold:g}"
            )
        axes.set_yscale("log")
        axes.set_ylim(top=150)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.legend(loc="best", framealpha=0)
        return Picture(title, _svg(figure))


def _draw(axes: "Axes", trace: Trace, scale: float) -> None:
    curve, colour = trace.curve, COLOURS[trace.colour % len(COLOURS)]
    values = [scale * value for value in curve.values]
    if trace.style == "points":
        errors = None if curve.bounds is None else _errors(curve.values, curve.bounds, scale)
        axes.errorbar(
            curve.rounds,
            values,
            yerr=errors,
            fmt="o",
            markersize=4,
            capsize=2.5,
            color=colour,
            label=trace.label,
        )
        return
    width, alpha, dash = {
        "line": (1.3, 0.75, "-"),
        "dashed": (1.3, 0.75, "--"),
        "thin": (0.8, 0.4, "-"),
        "thick": (2.0, 0.9, DASHES[trace.colour % len(DASHES)]),
    }[trace.style]
    marker = MARKS[trace.colour % len(MARKS)] if trace.style == "thick" or len(curve.rounds) == 1 else None
    axes.plot(
        curve.rounds,
        values,
        linestyle=dash,
        linewidth=width,
        alpha=alpha,
        color=colour,
        marker=marker,
        markersize=4,
        label=trace.label,
    )


def style() -> AbstractContextManager[None]:
    """Draw in the look of all figures while this is entered."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def _canvas(title: str, y_label: str, x_label: str) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.3), layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, ylabel=y_label, xlabel=x_label)
    return figure, axes


def svg(figure: "Figure") -> bytes:
    """The figure as a file; equal figures give equal bytes."""
    buffer = io.BytesIO()
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    return buffer.getvalue()


def _svg(figure: "Figure") -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg(figure)).decode()}"
