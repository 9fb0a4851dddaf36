"""Figures of calibration: how often forecasts held."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.evaluation.figures.frame import (
    GREY,
    LINE,
    PALETTE,
    add_band,
    colours,
    figure_of,
    labelled,
)
from calibrant.evaluation.metrics import reliability as reliability_curve


def reliability(pits: Mapping[str, ArrayLike], levels: int = 99) -> go.Figure:
    """Draw a reliability diagram: how often outcomes fell below each forecast quantile.

    A calibrated forecaster stays on the diagonal, up to chance: the grey band holds 95 % of chance
    deviations at each level, for the smallest number of outcomes among the curves.

    Args:
        pits: label → PITs of the forecasts; one curve per label, such as before and after.
        levels: the number of levels to draw.
    """
    figure = figure_of("forecast level p", "share of outcomes below the p-quantile")
    grid = np.concatenate([[0.0], validate.levels_grid(levels), [1.0]])
    smallest = min(np.size(values) for values in labelled(pits).values())
    if smallest == 0:
        raise ValueError("At least one outcome is needed to draw a reliability curve.")
    half = 1.96 * np.sqrt(grid * (1.0 - grid) / smallest)
    add_band(figure, grid, np.clip(grid - half, 0, 1), np.clip(grid + half, 0, 1), GREY, "chance")
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": LINE, "dash": "dot"}, showlegend=False
    )
    for colour, (label, values) in zip(colours(), pits.items(), strict=False):
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
    figure = figure_of("stated probability", "share that happened")
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": LINE, "dash": "dot"}, showlegend=False
    )
    figure.add_scatter(
        x=said, y=said, mode="markers", name="chance", marker={"opacity": 0},
        error_y={"array": 1.96 * np.array(spread), "color": LINE, "thickness": 6, "width": 0},
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
    figure = figure_of("PIT", "density")
    validate.at_least("bins", bins, 1)
    edges = np.linspace(0.0, 1.0, bins + 1)
    for colour, (label, values) in zip(colours(), labelled(pits).items(), strict=False):
        counts = np.histogram(validate.probabilities("pits", values), edges)[0]
        figure.add_bar(
            x=0.5 * (edges[1:] + edges[:-1]), y=counts * bins / max(counts.sum(), 1),
            name=label, marker={"color": colour}, opacity=0.75,
        )  # fmt: skip
    figure.add_hline(y=1.0, line={"color": LINE, "dash": "dot"})
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
    figure = figure_of("outcomes seen", "share inside the interval")
    lowest = target - 0.4
    for colour, (label, values) in zip(colours(), labelled(inside).items(), strict=False):
        share = _running_share(np.asarray(values, dtype=float), window)
        # The first few shares vary widely and may be cut off; the second half must be visible.
        lowest = min(lowest, float(np.nanmin(share[share.size // 2 :], initial=1.0)) - 0.05)
        figure.add_scatter(
            x=np.arange(1, share.size + 1), y=share, mode="lines", name=label,
            line={"color": colour, "width": 2},
        )  # fmt: skip
    figure.add_hline(y=target, line={"color": LINE, "dash": "dot"})
    figure.update_yaxes(tickformat=".0%", range=[max(0.0, lowest), 1.0])
    return figure


def _running_share(values: FloatArray, window: int | None) -> FloatArray:
    total = np.cumsum(values)
    count = np.arange(1, values.size + 1)
    if window is None:
        return np.asarray(total / count)
    validate.at_least("window", window, 1)
    before = np.concatenate([np.zeros(min(window, values.size)), total[:-window]])
    return np.asarray((total - before) / np.minimum(count, window))
