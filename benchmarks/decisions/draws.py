"""What a model expects of the next trials: gains at the best next point, and what is left in all.

The minimum of a function that is not known yet is drawn: joint draws of the calibrated belief, at
points that promise most. Screening alone misses them above three dimensions, so the points where
quantile bounds and expected improvement are largest are found with gradients, and looked around.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple

import numpy as np

from calibrant.acquisition.base import Belief, Criterion
from calibrant.acquisition.improvement import ExpectedImprovement
from calibrant.core.cube import SMALL, Cube
from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.fitted_gp import FittedGP, factor
from calibrant.search.argmax import argmax

_DRAWS = 128
_DEPTHS = (0.5, 1.0, 2.0, 3.0)  # stds below the mean, of the bounds whose minima are looked for
_SCREENED = 512
_KEPT = 192  # of the screened points, those with the lowest bound: joint draws take n³
_AROUND = 12  # points around each that was found with gradients
_WIDTHS = (0.01, 0.1)  # of the cube, how far around


class Prospects(NamedTuple):
    """What a model expects, in units of outcomes to be minimised."""

    left: FloatArray  # draws of how far the minimum lies below the best so far
    next: FloatArray  # the same of the function at the point of largest expected improvement
    noise: float  # std of an outcome around the function, at the best so far
    doubt: float  # std of the function at the best so far


def prospects(
    process: FittedGP,
    residual: Forecast,
    cube: Cube,
    best: FloatArray,
    taken: Set[bytes],
    rng: np.random.Generator,
) -> Prospects:
    """Return what a fitted process expects.

    Args:
        process: the model fitted to the outcomes so far.
        residual: what recalibrates it.
        cube: where it is searched.
        best: the points found so far, (k, dim), best first.
        taken: keys of points that a search would not try again.
        rng: randomness of screening and draws.
    """
    lowest = float(process.means().min())
    spread = float(residual.std())
    improvement = ExpectedImprovement().criterion(Belief(process, residual, lowest), rng, cube)
    promising = [argmax(improvement, cube, rng, best, taken)]
    promising += [argmax(_bound(process, depth * spread), cube, rng, best) for depth in _DEPTHS]
    points = np.concatenate([promising, *_candidates(process, cube, promising, best, spread, rng)])
    mean, covariance = process.joint(points)
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    root = factor(covariance, process.signal_variance)
    scores = (rng.standard_normal((_DRAWS, len(points))) @ root.T) / np.maximum(std, 1e-300)
    scores = np.clip(residual.at_score(scores), -SCORE_LIMIT, SCORE_LIMIT)
    drawn = mean + std * scores
    floor = float(process.outputs.inverse(lowest))
    here = process.posterior(best[:1])
    noise = float(np.sqrt(process.noise_around(here.mean))[0])
    slope = float(process.outputs.slope(floor))
    return Prospects(
        floor - process.outputs.inverse(drawn.min(axis=1)),
        floor - process.outputs.inverse(drawn[:, 0]),
        noise / slope,
        spread * float(here.std[0]) / slope,
    )


def _bound(process: FittedGP, depth: float) -> Criterion:
    """Return minus the bound that lies ``depth`` stds below the mean."""

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        mean, std, pullback = process.posterior(X)
        by_mean, by_std = np.full_like(mean, -1.0), np.full_like(std, depth)
        return depth * std - mean, lambda: pullback(by_mean, by_std)

    return evaluate


def _candidates(
    process: FittedGP,
    cube: Cube,
    promising: list[FloatArray],
    best: FloatArray,
    spread: float,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Return the lowest of the points spread over the cube, and points around promising ones."""
    screened = cube.every_point() if cube.size <= SMALL else cube.spread(_SCREENED, rng)
    promise, _ = _bound(process, 2.0 * spread)(screened)
    centres = np.repeat([*promising, best[0]], _AROUND, axis=0)
    width = np.exp(rng.uniform(*np.log(_WIDTHS), (len(centres), 1)))
    moves = rng.random(centres.shape) < np.maximum(0.3, 2.0 / cube.dim)
    around = cube.snap(centres + width * moves * rng.standard_normal(centres.shape))
    return [screened[np.argsort(-promise)[:_KEPT]], around, best[:1]]
