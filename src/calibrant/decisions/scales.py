"""The values of a parameter, for figures: its scale, and a grid along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from calibrant.core.typing import FloatArray
from calibrant.decisions.belief import StudyBelief


@dataclass(frozen=True)
class Scale:
    """The values that a parameter may have.

    Args:
        name: of the parameter.
        low: the lowest value; half a step below it where values are whole numbers or choices.
        high: the highest value, likewise.
        log: whether the scale is logarithmic.
        whole: whether values are whole numbers.
        choices: the labels of the values 0, 1, … of a choice.
    """

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    def words(self, values: FloatArray) -> Any:
        """Return values as a figure shows them: labels of choices."""
        return [self.choices[round(v)] for v in values] if self.choices else values


def scale_of(belief: StudyBelief, name: str) -> Scale:
    """Return the scale of a parameter's values, as Optuna stores them."""
    distribution = belief.space.distributions[name]
    if isinstance(distribution, CategoricalDistribution):
        choices = tuple(str(choice) for choice in distribution.choices)
        return Scale(name, -0.5, len(choices) - 0.5, choices=choices)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = float(distribution.low), float(distribution.high)
    if isinstance(distribution, IntDistribution):  # whole numbers are as wide as their neighbours
        return Scale(name, low - 0.5, high + 0.5, distribution.log, whole=True)
    return Scale(name, low, high, distribution.log)


def grid_of(belief: StudyBelief, column: int, most: int) -> FloatArray:
    """Return coordinates along an axis of the cube: its listed values, or evenly spaced ones."""
    listed = np.array(belief.cube.axes[column].values)
    if not listed.size:
        return np.linspace(0.0, 1.0, most)
    if listed.size <= most:
        return listed
    nearest = np.abs(listed - np.linspace(0.0, 1.0, most)[:, None]).argmin(axis=1)
    return np.asarray(listed[np.unique(nearest)])


def values_of(belief: StudyBelief, name: str, coordinates: FloatArray) -> FloatArray:
    """Return coordinates as values of a parameter, as Optuna stores them."""
    from_unit = belief.space.coordinates[name].from_unit
    return np.array([from_unit(float(u)) for u in np.clip(coordinates, 0.0, 1.0)])
