"""Metrics of probabilistic forecasts: are they calibrated, and are they sharp?

Calibration alone is easy to achieve (intervals of ±∞ can be calibrated); read it next to a proper
score such as the CRPS. Calibration is measured on PITs u = F(y), the other metrics on forecasts and
outcomes. All are means over points unless they say otherwise, and lower is better except for
coverage.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast

__all__ = [
    "calibration_score",
    "coverage",
    "crps",
    "interval_score",
    "miscalibration_area",
    "misclassification_loss",
    "pinball",
    "pit_coverage",
    "reliability",
    "sharpness",
]


def reliability(pits: ArrayLike, levels: int | ArrayLike = 99) -> tuple[FloatArray, FloatArray]:
    """Return the reliability curve: levels p, and the observed share of PITs at or below each."""
    grid = validate.levels_grid(levels)
    u = np.sort(_non_empty(validate.probabilities("pits", pits)), axis=None)
    return grid, np.searchsorted(u, grid, side="right") / u.size


def calibration_score(pits: ArrayLike, levels: int | ArrayLike = 20) -> float:
    """Return the paper's calibration score Σ_j (p_j − p̂_j)² over m levels, by default 20 even ones.

    The sum grows with the number of levels, so report m beside it.
    """
    grid, share = reliability(pits, levels)
    return float(((grid - share) ** 2).sum())


def miscalibration_area(pits: ArrayLike) -> float:
    """Return the exact area between the reliability curve and the diagonal, from 0 to ½."""
    u = np.sort(_non_empty(validate.probabilities("pits", pits)), axis=None)
    edges = np.concatenate([[0.0], u, [1.0]])
    height = np.arange(u.size + 1) / u.size  # the curve between edges k and k + 1
    # ∫ |height − p| dp from edge to edge, by the antiderivative ½(p − height)·|p − height|
    upper, lower = edges[1:] - height, edges[:-1] - height
    return float(0.5 * (upper * np.abs(upper) - lower * np.abs(lower)).sum())


def pit_coverage(pits: ArrayLike, coverage: float) -> float:
    """Return the share of PITs inside the central interval that should hold ``coverage``."""
    validate.coverage_level(coverage)
    u = _non_empty(validate.probabilities("pits", pits))
    return float(np.mean(np.abs(u - 0.5) <= 0.5 * coverage))


def coverage(forecast: Forecast, y: ArrayLike, coverage: float) -> float:
    """Return the share of outcomes inside the central intervals that should hold ``coverage``."""
    y = _outcomes(forecast, y)
    low, high = forecast.interval(coverage)
    return float(np.mean((low <= y) & (y <= high)))


def crps(forecast: Forecast, y: ArrayLike) -> float:
    """Return the mean continuous ranked probability score."""
    return float(np.mean(forecast.crps(_outcomes(forecast, y))))


def pinball(forecast: Forecast, y: ArrayLike, levels: int | ArrayLike = 99) -> float:
    """Return the mean pinball loss over points and levels; with many levels, half the CRPS."""
    y = _outcomes(forecast, y)
    p = validate.levels_grid(levels).reshape((-1,) + (1,) * y.ndim)
    error = y - forecast.quantile(p)
    return float(np.mean(np.where(error >= 0.0, p * error, (p - 1.0) * error)))


def misclassification_loss(
    forecast: Forecast, y: ArrayLike, threshold: ArrayLike, level: float
) -> float:
    """Return the mean cost of acting where an outcome at or below a threshold is probable enough.

    One acts where the forecast gives it a probability of at least ``level``. To act in vain costs
    ``level``, and to miss an outcome costs 1 − ``level``: with true probabilities no other rule
    costs less. This is the paper's weighted misclassification loss; summed over all thresholds it
    is the pinball loss of the level.

    Args:
        forecast: of the outcomes.
        y: one outcome per point.
        threshold: one for all points, or one each.
        level: the probability from which on acting pays.
    """
    validate.levels_grid([level])
    y = _outcomes(forecast, y)
    threshold = validate.finite("threshold", threshold)
    happened, acted = y <= threshold, forecast.cdf(threshold) >= level
    return float(np.mean(np.where(acted, level * ~happened, (1.0 - level) * happened)))


def interval_score(forecast: Forecast, y: ArrayLike, coverage: float) -> float:
    """Return the mean interval (Winkler) score: width plus 2/(1 − coverage) times the miss."""
    y = _outcomes(forecast, y)
    low, high = forecast.interval(coverage)
    miss = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return float(np.mean(high - low + 2.0 / (1.0 - coverage) * miss))


def sharpness(forecast: Forecast) -> float:
    """Return the root mean square of the forecasts' standard deviations."""
    return float(np.sqrt(np.mean(_non_empty(forecast.std()) ** 2)))


def _outcomes(forecast: Forecast, y: ArrayLike) -> FloatArray:
    return _non_empty(validate.one_outcome_each(forecast.batch, y))


def _non_empty(array: FloatArray) -> FloatArray:
    if array.size == 0:
        raise ValueError("At least one outcome is needed to compute a score, but got none.")
    return array
