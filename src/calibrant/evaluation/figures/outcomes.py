"""Figures of outcomes: with their forecasts, in the order of a search, and of what is to come."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.evaluation.figures.frame import (
    BLUE,
    LINE,
    PALETTE,
    add_band,
    colours,
    figure_of,
    labelled,
)


def ribbon(
    y: ArrayLike,
    intervals: Mapping[str, tuple[ArrayLike, ArrayLike]],
    x: ArrayLike | None = None,
) -> go.Figure:
    """Draw a stream of outcomes over its forecast intervals.

    Args:
        y: the outcomes; those outside the last of the intervals are drawn in red.
        intervals: label → lower and upper ends, one per time; infinite ends are drawn to the edge.
        x: the times; by default 1, 2, …
    """
    y = validate.finite("y", y)
    x = np.arange(1, y.size + 1) if x is None else np.asarray(x)
    figure = figure_of("", "outcome")
    ends = [np.asarray(end, dtype=float) for pair in labelled(intervals).values() for end in pair]
    if y.ndim != 1 or y.size == 0 or any(end.shape != y.shape for end in ends):
        raise ValueError("`y` must be 1-D and not empty, with one lower and upper end per outcome.")
    seen = np.concatenate([y, *(end[np.isfinite(end)] for end in ends)])
    margin = 0.1 * float(np.ptp(seen))
    floor, ceiling = seen.min() - margin, seen.max() + margin
    outside = np.zeros(y.size, dtype=bool)
    for colour, (label, (lower, upper)) in zip(colours(), intervals.items(), strict=False):
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        outside = (y < low) | (y > high)
        low, high = np.clip(low, floor, ceiling), np.clip(high, floor, ceiling)
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        add_band(figure, x, low, high, f"rgba({red}, {green}, {blue}, 0.3)", label)
    for label, where, colour in (("inside", ~outside, "#333333"), ("outside", outside, "#C00000")):
        figure.add_scatter(
            x=x[where], y=y[where], mode="markers", name=label, marker={"color": colour, "size": 4}
        )
    return figure


def intervals(
    y: ArrayLike, intervals: Mapping[str, tuple[ArrayLike, ArrayLike]], x: ArrayLike | None = None
) -> go.Figure:
    """Draw each outcome beside the intervals that were forecast for it, as separate bars.

    Use it instead of :func:`ribbon` for outcomes that are not neighbours in time.

    Args:
        y: the outcomes; those outside the last of their intervals are drawn in red.
        intervals: label → lower and upper ends, one per outcome.
        x: where to draw them; by default 1, 2, …
    """
    y = validate.finite("y", y)
    x = np.arange(1, y.size + 1, dtype=float) if x is None else np.asarray(x, dtype=float)
    ends = [np.asarray(end, dtype=float) for pair in labelled(intervals).values() for end in pair]
    if y.ndim != 1 or y.size == 0 or any(end.shape != y.shape for end in ends):
        raise ValueError("`y` must be 1-D and not empty, with one lower and upper end per outcome.")
    figure = figure_of("trial", "outcome")
    # The axis fits the outcomes: one very wide interval would squeeze all others to a line.
    margin = 0.5 * float(np.ptp(y)) or max(1e-9, 0.1 * abs(float(y[0])))
    floor, ceiling = y.min() - margin, y.max() + margin
    outside = np.zeros(y.size, dtype=bool)
    for index, (label, (lower, upper)) in enumerate(intervals.items()):
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        outside = (y < low) | (y > high)
        gaps = np.full(y.size, np.nan)  # NaN breaks the line between one bar and the next
        bars = np.stack([np.clip(low, floor, ceiling), np.clip(high, floor, ceiling), gaps], axis=1)
        figure.add_scatter(
            x=np.repeat(x + 0.25 * (index - 0.5 * (len(intervals) - 1)), 3), y=bars.ravel(),
            mode="lines", name=label, hoverinfo="skip",
            line={"color": PALETTE[index % len(PALETTE)], "width": 4},
        )  # fmt: skip
    for label, where, colour in (("inside", ~outside, "#333333"), ("outside", outside, "#C00000")):
        figure.add_scatter(
            x=x[where], y=y[where], mode="markers", name=label, marker={"color": colour, "size": 7}
        )
    figure.update_yaxes(range=[floor, ceiling])
    return figure


def convergence(values: ArrayLike, best_so_far: ArrayLike) -> go.Figure:
    """Draw the outcomes of a search, and the best so far as a line."""
    values, best = validate.finite("values", values), validate.as_floats("best_so_far", best_so_far)
    if values.ndim != 1 or values.size == 0 or best.shape != values.shape:
        raise ValueError("`values` and `best_so_far` must be 1-D, not empty and equally long.")
    x = np.arange(1, values.size + 1)
    figure = figure_of("evaluation", "value")
    figure.add_scatter(
        x=x, y=values, mode="markers", name="evaluation", marker={"color": LINE, "size": 6}
    )
    figure.add_scatter(
        x=x, y=best, mode="lines", name="best so far",
        line={"color": PALETTE[1], "width": 2.5, "shape": "hv"},
    )  # fmt: skip
    return figure


def fan(
    best_so_far: ArrayLike, ahead: ArrayLike, levels: ArrayLike, delta: float | None = None
) -> go.Figure:
    """Draw the best value of a search so far, and a fan of what it will be.

    Args:
        best_so_far: after each trial.
        ahead: quantiles of the best value after 1, 2, … more trials, (trials, levels).
        levels: their levels, symmetric about one half.
        delta: an improvement to mark, in the direction in which the fan opens.
    """
    best = validate.finite("best_so_far", np.atleast_1d(np.asarray(best_so_far, dtype=float)))
    ahead, levels = validate.finite("ahead", ahead), validate.levels_grid(levels)
    if best.ndim != 1 or not best.size or ahead.ndim != 2 or ahead.shape[1] != levels.size:
        raise ValueError(
            "`best_so_far` must be 1-D and not empty, and `ahead` have a column per level, but got "
            f"shapes {best.shape} and {ahead.shape} for {levels.size} levels."
        )
    figure = figure_of("trial", "best value")
    now = best.size
    x = np.arange(now, now + len(ahead) + 1)
    paths = np.concatenate([np.full((1, levels.size), best[-1]), ahead])
    for left in range(levels.size // 2):
        label = f"{levels[-1 - left] - levels[left]:.0%} of cases"
        add_band(figure, x, paths[:, left], paths[:, -1 - left], BLUE, label)
    figure.add_scatter(
        x=x, y=paths[:, levels.size // 2], mode="lines", name="median",
        line={"color": PALETTE[1], "width": 2, "dash": "dot"},
    )  # fmt: skip
    figure.add_scatter(
        x=np.arange(1, now + 1), y=best, mode="lines", name="best so far",
        line={"color": PALETTE[1], "width": 2.5, "shape": "hv"},
    )  # fmt: skip
    if delta is not None:
        better = float(np.sign(paths[-1, 0] - best[-1]))
        figure.add_hline(y=best[-1] + better * delta, line={"color": LINE, "dash": "dot"})
    return figure
