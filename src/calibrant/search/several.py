"""What several objectives need: their criterion, its reference point, and where to look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.acquisition.base import Criterion
from calibrant.acquisition.hypervolume import MOST_OBJECTIVES, hypervolume_improvement
from calibrant.acquisition.multiobjective import parego
from calibrant.core import validate
from calibrant.core.front import non_dominated
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.protocol import FittedModel, HasUnits
from calibrant.search.history import History

_NEAR = 4  # best points of one objective that the search for the next one looks around
_FARTHEST = 1e6  # in a model's units, stds of outcomes: where a reference point is kept finite


def criterion_of_several(
    fits: Sequence[FittedModel],
    residuals: Sequence[Forecast],
    means: FloatArray,
    reference_point: tuple[float, ...] | None,
    rng: np.random.Generator,
) -> Criterion:
    """Return the function of points to maximise: the expected gain of hypervolume.

    Five objectives and more are scalarised at random (ParEGO): their front cannot be cut into few
    enough boxes, and nearly every point is on it.

    Args:
        fits: the belief about each objective.
        residuals: what recalibration makes of each.
        means: what each objective has reached, (objectives, points), in the models' units.
        reference_point: the values beyond which nothing counts, in units of outcomes.
        rng: draws ParEGO's weights.
    """
    if len(fits) > MOST_OBJECTIVES:
        return parego(fits, residuals, means, rng)
    if reference_point is None:
        return hypervolume_improvement(fits, residuals, means)
    with np.errstate(over="ignore"):
        goals = [
            float(fitted.in_model_units(y)) if isinstance(fitted, HasUnits) else y
            for fitted, y in zip(fits, reference_point, strict=True)
        ]
    reference = np.clip(np.array(goals), -_FARTHEST, _FARTHEST)
    return hypervolume_improvement(fits, residuals, means, reference)


def checked_reference(point: Sequence[float]) -> tuple[float, ...]:
    """Return a reference point, or raise if it cannot be one."""
    values = validate.finite("reference_point", point)
    if values.ndim != 1 or not 2 <= values.size <= MOST_OBJECTIVES:
        raise ValueError(
            f"`reference_point` must hold one number per objective, of two to {MOST_OBJECTIVES}, "
            f"but got {point!r}; leave it out to have it inferred."
        )
    return tuple(values.tolist())


def near(history: History, rng: np.random.Generator) -> FloatArray:
    """Return the points worth looking around: the best ones; of several objectives, the front."""
    best_first = np.argsort(history.merit, kind="stable")
    if history.Y.shape[1] == 1:
        return np.asarray(history.X[best_first[:_NEAR]])
    good = np.flatnonzero(history.feasible)
    front = rng.permutation(good[non_dominated(history.Y[good])])
    return np.asarray(history.X[front if front.size else best_first[:_NEAR]])
