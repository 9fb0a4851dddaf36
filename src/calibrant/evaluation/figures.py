"""Plotly figures that show whether error bars are true; each function returns a figure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.evaluation.metrics import reliability as reliability_curve

__all__ = [
    "convergence",
    "coverage_over_time",
    "fan",
    "intervals",
    "pit_histogram",
    "promises",
    "reliability",
    "ribbon",
]

# Orange, blue, green, pink: distinct for colour-blind readers too (Okabe and Ito).
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
_GREY = "rgba(110, 110, 110, 0.18)"
_LINE = "#888888"

Value = TypeVar("Value")


def reliability(pits: Mapping[str, ArrayLike], levels: int = 99) -> go.Figure:
    """Draw a reliability diagram: how often outcomes fell below each forecast quantile.

    A calibrated forecaster stays on the diagonal, up to chance: the grey band holds 95 % of chance
    deviations at each level, for the smallest number of outcomes among the curves.

    Args:
        pits: label → PITs of the forecasts; one curve per label, such as before and after.
        levels: the number of levels to draw.
    """
    figure = _figure("forecast level p", "share of outcomes below the p-quantile")
    grid = np.concatenate([[0.0], validate.levels_grid(levels), [1.0]])
    smallest = min(np.size(values) for values in _labelled(pits).values())
    if smallest == 0:
        raise ValueError("At least one outcome is needed to draw a reliability curve.")
    half = 1.96 * np.sqrt(grid * (1.0 - grid) / smallest)
    _add_band(figure, grid, np.clip(grid - half, 0, 1), np.clip(grid + half, 0, 1), _GREY, "chance")
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": _LINE, "dash": "dot"}, showlegend=False
    )
    for colour, (label, values) in zip(_colours(), pits.items(), strict=False):
        share = reliability_curve(values, levels)[1]
        figure.add_scatter(
            x=grid, y=np.concatenate([[0.0], share, [1.0]]), mode="lines", name=label,
            line={"color": colour, "width": 2.5},
            hovertemplate="level %{x:.2f}: %{y:.3f} of outcomes<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(range=[0, 1], tickformat=".0%", constrain="domain")
    figure.update_yaxes(range=[0, 1], tickformat=".0%", scaleanchor="x")
    return figure


def promises(stated: ArrayLike, happened: ArrayLike, bins: int = 5) -> go.Figure:
    """Draw how often events happened that were stated to happen with some probability.

    Each point is a bin of statements with about the same number in each. Its bar holds 95 % of what
    chance would bring if the probabilities were right: true ones have their points on their bars.

    Args:
        stated: the probability of each event, given beforehand.
        happened: whether each happened.
        bins: how many points to draw, at most.
    """
    stated = np.atleast_1d(validate.probabilities("stated", stated))
    happened = np.atleast_1d(np.asarray(happened, dtype=float))
    if stated.shape != happened.shape or not stated.size:
        raise ValueError(
            "One outcome per statement, and at least one, is needed, but got "
            f"{stated.shape} stated and {happened.shape} that happened or not."
        )
    groups = np.array_split(
        np.argsort(stated, kind="stable"), min(validate.at_least("bins", bins, 1), stated.size)
    )
    said = np.array([stated[group].mean() for group in groups])
    share = np.array([happened[group].mean() for group in groups])
    spread = [np.sqrt((stated[g] * (1.0 - stated[g])).sum()) / g.size for g in groups]
    figure = _figure("stated probability", "share that happened")
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": _LINE, "dash": "dot"}, showlegend=False
    )
    figure.add_scatter(
        x=said, y=said, mode="markers", name="chance", marker={"opacity": 0},
        error_y={"array": 1.96 * np.array(spread), "color": _LINE, "thickness": 6, "width": 0},
        hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=said, y=share, mode="markers", name="happened",
        marker={"color": PALETTE[1], "size": 10}, customdata=[group.size for group in groups],
        hovertemplate="stated %{x:.0%}: %{y:.0%} of %{customdata} happened<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%", constrain="domain")
    figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", scaleanchor="x")
    return figure


def pit_histogram(pits: Mapping[str, ArrayLike], bins: int = 20) -> go.Figure:
    """Draw PIT histograms.

    They are flat for calibrated forecasts, U-shaped for over-confident ones, and hump-shaped for
    under-confident ones.
    """
    figure = _figure("PIT", "density")
    validate.at_least("bins", bins, 1)
    edges = np.linspace(0.0, 1.0, bins + 1)
    for colour, (label, values) in zip(_colours(), _labelled(pits).items(), strict=False):
        counts = np.histogram(validate.probabilities("pits", values), edges)[0]
        figure.add_bar(
            x=0.5 * (edges[1:] + edges[:-1]), y=counts * bins / max(counts.sum(), 1),
            name=label, marker={"color": colour}, opacity=0.75,
        )  # fmt: skip
    figure.add_hline(y=1.0, line={"color": _LINE, "dash": "dot"})
    figure.update_layout(barmode="group", bargap=0.08)
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    return figure


def coverage_over_time(
    inside: Mapping[str, ArrayLike], target: float, window: int | None = None
) -> go.Figure:
    """Draw the running share of outcomes inside their intervals against the nominal coverage.

    Args:
        inside: label → for each time, whether the outcome lay inside its interval.
        target: the nominal coverage, such as 0.8.
        window: count only this many latest outcomes; by default all so far.
    """
    figure = _figure("outcomes seen", "share inside the interval")
    lowest = target - 0.4
    for colour, (label, values) in zip(_colours(), _labelled(inside).items(), strict=False):
        share = _running_share(np.asarray(values, dtype=float), window)
        # The first few shares vary widely and may be cut off; the second half must be visible.
        lowest = min(lowest, float(np.nanmin(share[share.size // 2 :], initial=1.0)) - 0.05)
        figure.add_scatter(
            x=np.arange(1, share.size + 1), y=share, mode="lines", name=label,
            line={"color": colour, "width": 2},
        )  # fmt: skip
    figure.add_hline(y=target, line={"color": _LINE, "dash": "dot"})
    figure.update_yaxes(tickformat=".0%", range=[max(0.0, lowest), 1.0])
    return figure


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
    figure = _figure("", "outcome")
    ends = [np.asarray(end, dtype=float) for pair in _labelled(intervals).values() for end in pair]
    if y.ndim != 1 or y.size == 0 or any(end.shape != y.shape for end in ends):
        raise ValueError("`y` must be 1-D and not empty, with one lower and upper end per outcome.")
    seen = np.concatenate([y, *(end[np.isfinite(end)] for end in ends)])
    margin = 0.1 * float(np.ptp(seen))
    floor, ceiling = seen.min() - margin, seen.max() + margin
    outside = np.zeros(y.size, dtype=bool)
    for colour, (label, (lower, upper)) in zip(_colours(), intervals.items(), strict=False):
        low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        outside = (y < low) | (y > high)
        low, high = np.clip(low, floor, ceiling), np.clip(high, floor, ceiling)
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        _add_band(figure, x, low, high, f"rgba({red}, {green}, {blue}, 0.3)", label)
    for label, where, colour in (("inside", ~outside, "#333333"), ("outside", outside, "#C00000")):
        figure.add_scatter(
            x=x[where], y=y[where], mode="markers", name=label, marker={"color": colour, "size": 4}
        )
    return figure


def convergence(values: ArrayLike, best_so_far: ArrayLike) -> go.Figure:
    """Draw the outcomes of a search, and the best so far as a line."""
    values, best = validate.finite("values", values), validate.as_floats("best_so_far", best_so_far)
    if values.ndim != 1 or values.size == 0 or best.shape != values.shape:
        raise ValueError("`values` and `best_so_far` must be 1-D, not empty and equally long.")
    x = np.arange(1, values.size + 1)
    figure = _figure("evaluation", "value")
    figure.add_scatter(
        x=x, y=values, mode="markers", name="evaluation", marker={"color": _LINE, "size": 6}
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
    figure = _figure("trial", "best value")
    now = best.size
    x = np.arange(now, now + len(ahead) + 1)
    paths = np.concatenate([np.full((1, levels.size), best[-1]), ahead])
    for left in range(levels.size // 2):
        label = f"{levels[-1 - left] - levels[left]:.0%} of cases"
        _add_band(figure, x, paths[:, left], paths[:, -1 - left], "rgba(0, 114, 178, 0.18)", label)
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
        figure.add_hline(y=best[-1] + better * delta, line={"color": _LINE, "dash": "dot"})
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
    ends = [np.asarray(end, dtype=float) for pair in _labelled(intervals).values() for end in pair]
    if y.ndim != 1 or y.size == 0 or any(end.shape != y.shape for end in ends):
        raise ValueError("`y` must be 1-D and not empty, with one lower and upper end per outcome.")
    figure = _figure("trial", "outcome")
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


def _figure(x_title: str, y_title: str) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 30, "b": 50},
        xaxis_title=x_title,
        yaxis_title=y_title,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        font={"size": 14},
    )
    return figure


def _add_band(
    figure: go.Figure, x: ArrayLike, low: FloatArray, high: FloatArray, colour: str, label: str
) -> None:
    figure.add_scatter(
        x=x, y=low, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip"
    )
    figure.add_scatter(
        x=x, y=high, mode="lines", line={"width": 0}, fill="tonexty", fillcolor=colour, name=label,
        hoverinfo="skip",
    )  # fmt: skip


def _running_share(values: FloatArray, window: int | None) -> FloatArray:
    total = np.cumsum(values)
    count = np.arange(1, values.size + 1)
    if window is None:
        return np.asarray(total / count)
    validate.at_least("window", window, 1)
    before = np.concatenate([np.zeros(min(window, values.size)), total[:-window]])
    return np.asarray((total - before) / np.minimum(count, window))


def _labelled(items: Mapping[str, Value]) -> Mapping[str, Value]:
    if not isinstance(items, Mapping) or not items:
        raise ValueError('Pass at least one labelled series, such as {"raw": …, "calibrated": …}.')
    return items


def _colours() -> Iterator[str]:
    return itertools.cycle(PALETTE)
