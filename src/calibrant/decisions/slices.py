"""What is believed around a setting: slices along each parameter, and a contour of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study

from calibrant.core.typing import FloatArray
from calibrant.core.words import count, interval, number
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.importance import importance_of
from calibrant.decisions.quantity import Quantity
from calibrant.decisions.recommend import recommend_of
from calibrant.decisions.recommendation import Recommendation
from calibrant.decisions.scales import Scale, grid_of, scale_of, values_of
from calibrant.decisions.words import html_table
from calibrant.studies.shown import COVERAGE

_GRID = 41  # points of a slice
_CELLS = 24  # of a contour, along each side


@dataclass(frozen=True)
class Slice:
    """The calibrated forecast of a new evaluation along one parameter.

    Args:
        scale: the parameter.
        at: its values; positions of choices.
        low: lower ends of the 80 % intervals there.
        middle: medians.
        high: upper ends.
        here: the setting's own value.
    """

    scale: Scale
    at: FloatArray
    low: FloatArray
    middle: FloatArray
    high: FloatArray
    here: float

    @property
    def expected(self) -> float:
        """The median at the setting itself."""
        return float(self.middle[int(np.argmin(np.abs(self.at - self.here)))])


@dataclass(frozen=True)
class Slices:
    """The forecast along each parameter, the others as in one setting.

    Args:
        parts: one per parameter that exists there, the most important first.
        params: the setting.
    """

    parts: tuple[Slice, ...]
    params: dict[str, Any]

    def figure(self) -> Any:
        """Draw them (:func:`calibrant.figures.slices`)."""
        from calibrant.evaluation.figures import slices as draw  # loads plotly

        bands = {
            part.scale.name: (part.scale.words(part.at), part.low, part.middle, part.high)
            for part in self.parts
        }
        here = {
            part.scale.name: (part.scale.words(np.array([part.here]))[0], part.expected)
            for part in self.parts
        }
        return draw(bands, here, [part.scale.name for part in self.parts if part.scale.log])

    def sentences(self) -> list[str]:
        """Return the slices in words."""
        return [
            f"Along {part.scale.name}, the median goes from {number(float(part.middle.min()))} to "
            f"{number(float(part.middle.max()))}; here it is {number(part.expected)}."
            for part in self.parts
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        rows = [
            [part.scale.name, number(part.expected),
             interval(float(part.middle.min()), float(part.middle.max()))]
            for part in self.parts
        ]  # fmt: skip
        said = [f"The forecast along {count(len(self.parts), 'parameter')}."]
        return html_table(said, ["parameter", "median here", "median along it"], rows)


@dataclass(frozen=True)
class Contour:
    """The median forecast over two parameters, the others as in one setting.

    Args:
        scales: the two parameters.
        at: the values of each.
        middle: the medians, (values of the first, values of the second).
        points: the values of each in the trials evaluated.
        here: the values of each in the setting.
        maximised: whether higher is better.
    """

    scales: tuple[Scale, Scale]
    at: tuple[FloatArray, FloatArray]
    middle: FloatArray
    points: tuple[FloatArray, FloatArray]
    here: tuple[float, float]
    maximised: bool

    def figure(self) -> Any:
        """Draw it (:func:`calibrant.figures.contour`)."""
        from calibrant.evaluation.figures import contour as draw  # loads plotly

        first, second = self.scales
        x, y = (scale.words(at) for scale, at in zip(self.scales, self.at, strict=True))
        points = first.words(self.points[0]), second.words(self.points[1])
        here = [
            scale.words(np.array([value]))[0]
            for scale, value in zip(self.scales, self.here, strict=True)
        ]
        return draw(
            x, y, self.middle, (first.name, second.name), points, (here[0], here[1]),
            (first.log, second.log), self.maximised,
        )  # fmt: skip


def slices(study: Study, params: Mapping[str, Any] | None = None, objective: int = 0) -> Slices:
    """Return the calibrated forecast along each parameter, the others as in one setting.

    >>> import calibrant
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 1.0)}, n_trials=12, seed=0)
    >>> part = calibrant.slices(study).parts[0]
    >>> bool((part.low <= part.high).all()), part.scale.name
    (True, 'x')

    Args:
        study: an Optuna study, whichever sampler made it.
        params: the setting; by default the one to use, of several objectives the best of this one.
        objective: which one, of several.

    Raises:
        ValueError: if no trial has finished, or the study has no parameters to choose.
    """
    belief, quantity, setting, x = _asked(study, params, objective)
    names = list(importance_of(belief, quantity))
    return Slices(slices_of(belief, quantity, x, names), setting)


def contour(
    study: Study,
    first: str | None = None,
    second: str | None = None,
    params: Mapping[str, Any] | None = None,
    objective: int = 0,
) -> Contour:
    """Return the median forecast over two parameters, the others as in one setting.

    >>> import calibrant
    >>> space = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2 + p["y"], space, n_trials=12, seed=0)
    >>> figure = calibrant.contour(study, "x", "y").figure()

    Args:
        study: an Optuna study, whichever sampler made it.
        first: a parameter; by default the most important.
        second: another; by default the next.
        params: the setting; by default the one to use, of several objectives the best of this one.
        objective: which one, of several.

    Raises:
        ValueError: if the two are not different parameters that exist in the setting.
    """
    belief, quantity, _, x = _asked(study, params, objective)
    exist = [n for n in importance_of(belief, quantity) if n in belief.space.internal(x)]
    first = first or next((name for name in exist if name != second), None)
    second = second or next((name for name in exist if name != first), None)
    if first == second or first not in exist or second not in exist:
        raise ValueError(
            f"A contour needs two of the parameters {', '.join(exist)}, but got {first!r} and "
            f"{second!r}."
        )
    return contour_of(belief, quantity, x, first, second)


def slices_of(
    belief: StudyBelief, quantity: Quantity, x: FloatArray, names: list[str]
) -> tuple[Slice, ...]:
    """Return the slices through a point of the cube, of parameters that exist there."""
    exists = belief.space.internal(x)
    return tuple(_slice(belief, quantity, x, name) for name in names if name in exists)


def contour_of(
    belief: StudyBelief, quantity: Quantity, x: FloatArray, first: str, second: str
) -> Contour:
    """Return the contour through a point of the cube."""
    names = list(belief.space.coordinates)
    columns = names.index(first), names.index(second)
    grids = [grid_of(belief, column, _CELLS) for column in columns]
    mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
    X = np.repeat(x[None], len(mesh), axis=0)
    X[:, columns] = mesh
    middle = quantity.sign * np.asarray(quantity.outcome(belief.cube.snap(X)).quantile(0.5))
    at, points, here = (
        tuple(values_of(belief, name, row) for name, row in zip((first, second), rows, strict=True))
        for rows in (grids, quantity.X[:, columns].T, x[list(columns)][:, None])
    )
    return Contour(
        scales=(scale_of(belief, first), scale_of(belief, second)),
        at=(at[0], at[1]),
        middle=middle.reshape(grids[0].size, grids[1].size),
        points=(points[0], points[1]),
        here=(float(here[0][0]), float(here[1][0])),
        maximised=quantity.sign < 0,
    )


def _asked(
    study: Study, params: Mapping[str, Any] | None, objective: int
) -> tuple[StudyBelief, Quantity, dict[str, Any], FloatArray]:
    belief = believe(study)
    total = len(belief.objectives)
    if not 0 <= objective < total:
        raise ValueError(f"`0 <= objective < {total}` must hold, but got objective={objective}.")
    quantity = belief.objectives[objective]
    if params is not None:
        return belief, quantity, dict(params), belief.points([params])[0]
    advice = recommend_of(belief) if total == 1 else None
    if isinstance(advice, Recommendation):
        space = belief.space
        x = space.row(space.existing(space.to_internal(advice.params, outside=True)))
        return belief, quantity, advice.params, x
    x = quantity.X[int(np.argmin(quantity.y))]
    return belief, quantity, belief.settings(x[None])[0], x


def _slice(belief: StudyBelief, quantity: Quantity, x: FloatArray, name: str) -> Slice:
    column = list(belief.space.coordinates).index(name)
    grid = grid_of(belief, column, _GRID)
    X = np.repeat(x[None], grid.size, axis=0)
    X[:, column] = grid
    forecast = quantity.outcome(belief.cube.snap(X))
    tail = (1.0 - COVERAGE) / 2
    low, middle, high = (
        quantity.sign * np.asarray(forecast.quantile(p)) for p in (tail, 0.5, 1.0 - tail)
    )
    if quantity.sign < 0:
        low, high = high, low
    at, here = values_of(belief, name, grid), float(values_of(belief, name, x[[column]])[0])
    return Slice(scale_of(belief, name), at, low, middle, high, here)
