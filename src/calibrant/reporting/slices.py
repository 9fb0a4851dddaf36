"""What the model believes around a setting, drawn: importance, slices with bands, and a contour."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.core.words import number, percent, shortened
from calibrant.decisions.scales import Scale
from calibrant.decisions.slices import Contour, Slice
from calibrant.reporting.html import Html, breakable, tag
from calibrant.reporting.svg import SMALL, SQUARE_NARROW, SQUARE_WIDE, Axis, Plot, Size, figure

_LEVELS = 6  # shades of a contour
_MOST = 8  # parameters of which slices are drawn
_FEW = 12  # values of a parameter up to which each is drawn by itself


def importance_figure(shares: dict[str, float]) -> Html:
    """Draw how much of the forecast depends on each parameter."""
    rows = []
    for name, share in list(shares.items())[:20]:
        length = 100 * min(share, 1.0)
        bar = tag(
            "svg",
            tag("rect", x=0, y=0, width=f"{length:.1f}", height=10, class_="fill solid"),
            viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true",
        )  # fmt: skip
        rows += [
            tag("span", breakable(shortened(name, 40))),
            bar,
            tag("span", percent(min(share, 1.0))),
        ]
    return tag("div", *rows, class_="share")


def slices_figure(parts: Sequence[Slice]) -> Html:
    """Draw slices side by side, on one scale of outcomes."""
    parts = parts[:_MOST]
    if not parts:
        return Html("")
    ends = np.concatenate([end for part in parts for end in (part.low, part.high)])
    middles = np.concatenate([part.middle for part in parts])
    # Wide bands far from any trial would squeeze what matters.
    spread = float(np.ptp(middles)) or float(np.ptp(ends))
    reach = max(spread, 1e-9 * float(np.abs(middles).max()), 1e-300)
    low = max(float(ends.min()), float(middles.min()) - reach) - 0.05 * reach
    high = min(float(ends.max()), float(middles.max()) + reach) + 0.05 * reach
    y = Axis(low, high)
    drawings = [figure(partial(_draw, part, y), _described(part), sizes=(SMALL,)) for part in parts]
    return tag("div", *drawings, class_="pair")


def contour_figure(found: Contour, base: str = "the setting above") -> Html:
    """Draw the forecast over two parameters, the others as in a setting."""
    axes = [_axis(scale) for scale in found.scales]
    value = found.middle.ravel()
    better = value if found.maximised else -value
    shade = np.searchsorted(np.quantile(better, np.linspace(0, 1, _LEVELS + 1)[1:-1]), better)
    edges = [_edges(at, axis) for at, axis in zip(found.at, axes, strict=True)]
    sides = [np.column_stack([side[:-1], side[1:]]) for side in edges]
    across = np.repeat(sides[0], len(sides[1]), axis=0)
    upwards = np.tile(sides[1], (len(sides[0]), 1))

    def draw(size: Size) -> Plot:
        plot = Plot(size, *axes)
        for level in range(_LEVELS):
            plot.cells(across[shade == level], upwards[shade == level], f"l{level + 1}")
        plot.dots(*found.points, "", width=4)
        plot.dots([found.here[0]], [found.here[1]], "ring", ["the setting"], 10)
        return plot

    first, second = (shortened(scale.name) for scale in found.scales)
    ends = f"{number(float(value.min()))} to {number(float(value.max()))}"
    described = f"The forecast over {first} and {second}, from {ends}."
    caption = (
        f"Median forecast, from {ends}: the stronger the colour, the better. Dots are trials, and "
        f"the ring marks {base}, from which the other parameters are taken."
    )
    return figure(draw, described, caption, (SQUARE_WIDE, SQUARE_NARROW))


def _edges(values: FloatArray, axis: Axis) -> FloatArray:
    """Return the ends of cells around values: half-way to the next, and those of the axis."""
    if axis.log:
        return np.exp(_edges(np.log(values), Axis(np.log(axis.low), np.log(axis.high))))
    middles = values[1:] / 2 + values[:-1] / 2
    return np.concatenate([[axis.low], middles, [axis.high]])


def _axis(scale: Scale) -> Axis:
    """Return the axis of a parameter's values."""
    label = shortened(scale.name, 40)
    return Axis(scale.low, scale.high, label, scale.log, scale.whole, names=scale.choices)


def _draw(part: Slice, y: Axis, size: Size) -> Plot:
    plot = Plot(size, _axis(part.scale), y)
    if part.scale.choices or part.at.size <= _FEW:
        plot.bars(part.at, part.low, part.high, "", 14)
        plot.dots(part.at, part.middle, "accent", width=7)
    else:
        plot.band(part.at, part.low, part.high, "")
        plot.line(part.at, part.middle, "accent")
    plot.dots([part.here], [part.expected], "ring", [f"{part.scale.name} here"], 9)
    return plot


def _described(part: Slice) -> str:
    low, high = (number(float(end)) for end in (part.middle.min(), part.middle.max()))
    return f"Forecast along {shortened(part.scale.name)}: expected between {low} and {high}."
