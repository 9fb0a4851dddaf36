"""Noise that is known of single outcomes: its checks, its units, and that of new outcomes.

An outcome's noise is the one for all, learned or given, and on top of it the outcome's own where
that is known. So a learned noise is what the known ones do not tell: errors that are larger than
stated, and structure that the kernel does not see. Where nothing is missing it stays small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap

LEAST = 1e-10  # variance in the model's units; given noise of 0 is taken as this
_SHARPNESS = 8  # power of correlations: noise is taken from the closest outcomes, not from all
_NONE = 1e-3  # of the middle std: what is less noisy, or not at all, counts as this
_STRAIGHT = 1e-3  # in the model's units, in which outcomes have a std of 1
_ELSEWHERE = 1e-3  # weight of outcomes that are far away, where none is near


def checked_stds(noise: ArrayLike, y: FloatArray) -> FloatArray:
    """Return the std of each outcome's own noise, NaN where it is not known.

    Raises:
        ValueError: for another shape than that of y, and for what is negative or infinite.
    """
    stds = validate.as_floats("noise", noise)
    if stds.shape not in ((), y.shape):
        raise ValueError(f"One `noise`, or one an outcome, but got {stds.shape} for {y.shape}.")
    validate.not_negative("noise", stds[~np.isnan(stds)])
    return np.broadcast_to(stds, y.shape)


def filled(stds: FloatArray) -> FloatArray:
    """Return stds with the middle of those known where one is missing; 0 where none is known."""
    known = stds[~np.isnan(stds)]
    return np.where(np.isnan(stds), np.median(known) if known.size else 0.0, stds)


def nearby(stds: FloatArray, correlations: FloatArray) -> FloatArray:
    """Return the std to expect at new points, from those known at others, (m,).

    It is a weighted geometric mean, as one outcome that is far noisier than the rest says little
    about others. Weights fall with the correlation that a model sees between points.

    Args:
        stds: at n points, NaN where it is not known; at least one is.
        correlations: of the new points with these, (m, n).
    """
    known = ~np.isnan(stds)
    closeness = np.maximum(correlations[:, known], 0.0)
    largest = closeness.max(axis=1, keepdims=True)
    weights = (closeness / np.where(largest > 0.0, largest, 1.0)) ** _SHARPNESS + _ELSEWHERE
    some = stds[known][stds[known] > 0.0]
    if not some.size:
        return np.zeros(correlations.shape[0])
    logs = np.log(np.maximum(stds[known], max(_NONE * np.median(some), np.finfo(float).tiny)))
    return np.asarray(np.exp(weights @ logs / weights.sum(axis=1)))


def in_model_units(std: FloatArray | float, outputs: MonotoneMap, y: FloatArray) -> FloatArray:
    """Return variances of given noise around outcomes y, in the units of a model.

    It is half of what the map makes of ``y − std`` to ``y + std``. The slope at y would not do: an
    outcome that is low by luck lies where a bent map is steep, so that it would count for less than
    one that is high by luck, and all noisy places would seem worse than they are.
    """
    tangent = std * outputs.slope(y)
    with np.errstate(over="ignore"):  # beyond the largest number a map goes no further
        chord = 0.5 * (outputs(y + std) - outputs(y - std))
    # Of less, a difference would lose its digits; a map is straight over so little.
    half = np.where(tangent < _STRAIGHT, tangent, chord)
    # At least so much that K can be factored, at most so much that its square is finite.
    return np.asarray(np.maximum(np.minimum(half, 1e50) ** 2, LEAST))
