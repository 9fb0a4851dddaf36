"""What the model believes around a setting: importance, slices with bands, and a contour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.core.typing import FloatArray
from calibrant.core.words import number, percent, shortened
from calibrant.decisions.belief import Quantity, StudyBelief
from calibrant.reporting.html import Html, breakable, tag
from calibrant.reporting.svg import SMALL, SQUARE_NARROW, SQUARE_WIDE, Axis, Plot, Size, figure
from calibrant.studies.shown import COVERAGE

_GRID = 41  # points of a slice
_CELLS = 24  # of a contour, along each side
_LEVELS = 6  # shades of a contour
_MOST = 8  # parameters of which slices are drawn


@dataclass(frozen=True)
class Slice:
    """The calibrated forecast along one parameter, the others as in a setting."""

    name: str
    axis: Axis
    at: FloatArray  # values on that axis; indices of categories
    low: FloatArray
    middle: FloatArray
    high: FloatArray
    here: float  # the setting's own value

    @property
    def listed(self) -> bool:
        """Whether the parameter has few values, each drawn by itself."""
        return bool(self.axis.names) or self.at.size <= 12


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


def slices(
    belief: StudyBelief, quantity: Quantity, x: FloatArray, names: Sequence[str]
) -> list[Slice]:
    """Return the slices through a point of the cube, of parameters that exist there."""
    exists = belief.space.internal(x)
    return [_slice(belief, quantity, x, name) for name in names if name in exists][:_MOST]


def slices_figure(parts: Sequence[Slice]) -> Html:
    """Draw slices side by side, on one scale of outcomes."""
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


def contour_figure(
    belief: StudyBelief, quantity: Quantity, x: FloatArray, first: str, second: str
) -> Html:
    """Draw the forecast over two parameters, the others as at a point of the cube."""
    names = list(belief.space.coordinates)
    columns = names.index(first), names.index(second)
    grids = [_grid(belief, column, _CELLS) for column in columns]
    mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
    X = np.repeat(x[None], len(mesh), axis=0)
    X[:, columns] = mesh
    value = quantity.sign * np.asarray(quantity.outcome(belief.cube.snap(X)).quantile(0.5))
    better = -quantity.sign * value
    shade = np.searchsorted(np.quantile(better, np.linspace(0, 1, _LEVELS + 1)[1:-1]), better)
    axes = [_axis(belief, name) for name in (first, second)]
    edges = [
        _edges(_values(belief, name, grid), axis)
        for name, grid, axis in zip((first, second), grids, axes, strict=True)
    ]
    sides = [np.column_stack([side[:-1], side[1:]]) for side in edges]
    across = np.repeat(sides[0], len(sides[1]), axis=0)
    upwards = np.tile(sides[1], (len(sides[0]), 1))
    trials_x, trials_y, here_x, here_y = (
        _values(belief, names[column], points[:, column])
        for points in (quantity.X, x[None])
        for column in columns
    )

    def draw(size: Size) -> Plot:
        plot = Plot(size, *axes)
        for level in range(_LEVELS):
            plot.cells(across[shade == level], upwards[shade == level], f"l{level + 1}")
        plot.dots(trials_x, trials_y, "", width=4)
        plot.dots(here_x, here_y, "ring", ["the setting"], 10)
        return plot

    described = (
        f"The forecast over {shortened(first)} and {shortened(second)}, between "
        f"{number(float(value.min()))} and {number(float(value.max()))}."
    )
    caption = (
        f"Median forecast from {number(float(value.min()))} to {number(float(value.max()))}, "
        "the stronger the colour, the better; dots are trials, the ring is the setting above. "
        "Other parameters are as in that setting."
    )
    return figure(draw, described, caption, (SQUARE_WIDE, SQUARE_NARROW))


def _slice(belief: StudyBelief, quantity: Quantity, x: FloatArray, name: str) -> Slice:
    column = list(belief.space.coordinates).index(name)
    grid = _grid(belief, column, _GRID)
    X = np.repeat(x[None], grid.size, axis=0)
    X[:, column] = grid
    forecast = quantity.outcome(belief.cube.snap(X))
    tail = (1.0 - COVERAGE) / 2
    low, middle, high = (
        quantity.sign * np.asarray(forecast.quantile(p)) for p in (tail, 0.5, 1.0 - tail)
    )
    if quantity.sign < 0:
        low, high = high, low
    at, here = _values(belief, name, grid), float(_values(belief, name, x[[column]])[0])
    return Slice(name, _axis(belief, name), at, low, middle, high, here)


def _grid(belief: StudyBelief, column: int, most: int) -> FloatArray:
    """Return coordinates along an axis of the cube: its listed values, or evenly spaced ones."""
    listed = np.array(belief.cube.axes[column].values)
    if not listed.size:
        return np.linspace(0.0, 1.0, most)
    if listed.size <= most:
        return listed
    nearest = np.abs(listed - np.linspace(0.0, 1.0, most)[:, None]).argmin(axis=1)
    return np.asarray(listed[np.unique(nearest)])


def _values(belief: StudyBelief, name: str, coordinates: FloatArray) -> FloatArray:
    """Return coordinates as values of a parameter, as Optuna stores them."""
    from_unit = belief.space.coordinates[name].from_unit
    return np.array([from_unit(float(u)) for u in np.clip(coordinates, 0.0, 1.0)])


def _edges(values: FloatArray, axis: Axis) -> FloatArray:
    """Return the ends of cells around values: half-way to the next, and those of the axis."""
    if axis.log:
        return np.exp(_edges(np.log(values), Axis(np.log(axis.low), np.log(axis.high))))
    middles = values[1:] / 2 + values[:-1] / 2
    return np.concatenate([[axis.low], middles, [axis.high]])


def _axis(belief: StudyBelief, name: str) -> Axis:
    """Return the axis of a parameter's values, as Optuna stores them."""
    distribution = belief.space.distributions[name]
    label = shortened(name, 40)
    if isinstance(distribution, CategoricalDistribution):
        choices = tuple(str(choice) for choice in distribution.choices)
        return Axis(-0.5, len(choices) - 0.5, label, names=choices)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = float(distribution.low), float(distribution.high)
    if isinstance(distribution, IntDistribution):  # whole numbers are as wide as their neighbours
        low, high = low - 0.5, high + 0.5
        return Axis(low, high, label, log=distribution.log, whole=True)
    return Axis(low, high, label, log=distribution.log)


def _draw(part: Slice, y: Axis, size: Size) -> Plot:
    plot = Plot(size, part.axis, y)
    if part.listed:
        plot.bars(part.at, part.low, part.high, "", 14)
        plot.dots(part.at, part.middle, "accent", width=7)
    else:
        plot.band(part.at, part.low, part.high, "")
        plot.line(part.at, part.middle, "accent")
    nearest = int(np.argmin(np.abs(part.at - part.here)))
    plot.dots([part.here], [part.middle[nearest]], "ring", [f"{part.name} here"], 9)
    return plot


def _described(part: Slice) -> str:
    best = int(np.argmin(part.middle)), int(np.argmax(part.middle))
    low, high = (number(float(part.middle[k])) for k in best)
    return f"Forecast along {shortened(part.name)}: expected between {low} and {high}."
