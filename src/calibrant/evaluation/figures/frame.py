"""What all figures share: colours, the look of axes and legends, bands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

import plotly.graph_objects as go
from numpy.typing import ArrayLike

# Orange, blue, green, pink: distinct for colour-blind readers too (Okabe and Ito).
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
GREY = "rgba(110, 110, 110, 0.18)"
BLUE = "rgba(0, 114, 178, 0.18)"
LINE = "#888888"

Value = TypeVar("Value")


def figure_of(x_title: str, y_title: str) -> go.Figure:
    """Return an empty figure with titles of its axes."""
    figure = go.Figure()
    figure.update_layout(xaxis_title=x_title, yaxis_title=y_title)
    return styled(figure)


def styled(figure: go.Figure) -> go.Figure:
    """Give a figure the look of all of them."""
    return figure.update_layout(
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 30, "b": 50},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        font={"size": 14},
    )


def add_band(
    figure: go.Figure,
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    colour: str,
    label: str,
    **where: object,
) -> None:
    """Fill what lies between two lines; ``where`` names the panel, if there are several."""
    lines = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_scatter(y=low, **{**lines, **where, "showlegend": False})
    figure.add_scatter(y=high, fill="tonexty", fillcolor=colour, name=label, **lines, **where)


def labelled(items: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return what was passed, if it is labelled and not empty."""
    if not isinstance(items, Mapping) or not items:
        raise ValueError('Pass at least one labelled series, such as {"raw": …, "calibrated": …}.')
    return items


def colours() -> Iterator[str]:
    """Return the palette, over and over."""
    return itertools.cycle(PALETTE)
