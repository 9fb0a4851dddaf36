"""Log expected hypervolume improvement of two to four objectives, in closed form.

What an outcome y adds to the volume that a front dominates, up to a reference point, is the part of
the region not dominated so far that y dominates. With that region cut into disjoint boxes
[l, u], and with outcomes Y_k that are believed to be independent,

    HVI(y)  = Σ_boxes Π_k ((u_k − y_k)₊ − (l_k − y_k)₊),
    E[HVI]  = Σ_boxes Π_k (ψ_k(u_k) − ψ_k(l_k)),
    ψ_k(a)  = E[(a − Y_k)₊] = std_k·h_k((a − mean_k)/std_k),

where h_k is the shortfall of the calibrated residual, a curve of one variable
(:mod:`calibrant.acquisition.residual_tables`).
Sums, products and differences are taken of logarithms, so that there is a gradient also where an
improvement is so unlikely that its expectation underflows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibrant.acquisition.base import Criterion
from calibrant.acquisition.residual_tables import curves
from calibrant.core.front import Boxes, non_dominated, not_dominated_boxes
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.protocol import FittedModel, GaussianBelief

# Points of the front that are kept: beyond, boxes grow faster than the front becomes clearer. These
# leave about 60, 350 and 650 boxes for two, three and four objectives.
_MOST_POINTS = {1: 1, 2: 60, 3: 60, 4: 30}
MOST_OBJECTIVES = max(_MOST_POINTS)

# Of the extent of the front, beyond its worst values: where the reference point is. With 0.1, a
# search that began in the middle of a front creeps towards its ends.
_MARGIN = 0.5
_LEAST_EXTENT = 1.0  # in the models' units, stds of outcomes: the front may be a single point

_SMALLEST_GAP = -1e-14  # of two logarithms that rounding made equal


def hypervolume_improvement(
    fits: Sequence[FittedModel],
    residuals: Sequence[Forecast],
    means: FloatArray,
    reference: FloatArray | None = None,
) -> Criterion:
    """Return the log expected improvement of the hypervolume that a front dominates.

    Volumes are in the models' units. These are close to normal, so that no objective outweighs
    another because of a few huge outcomes, and a rescaling of outcomes changes nothing.

    Args:
        fits: the belief about each objective, two to four.
        residuals: what recalibration makes of each.
        means: what each objective has reached, (objectives, points), in the models' units.
        reference: the values beyond which nothing counts, in the models' units; None: half the
            extent of the front beyond its worst values.
    """
    if not all(isinstance(fitted, GaussianBelief) for fitted in fits):
        raise ValueError(
            "Several objectives need a model that is a GaussianBelief, such as GaussianProcess."
        )
    front = means.T[non_dominated(means.T)]
    if reference is None:
        reference = beyond(front)
    front = _spread_out(front[np.all(front < reference, axis=1)], _MOST_POINTS[len(fits)])
    return expected_volume(fits, residuals, not_dominated_boxes(front, reference))


def expected_volume(
    fits: Sequence[FittedModel], residuals: Sequence[Forecast], boxes: Boxes
) -> Criterion:
    """Return the log of the expected volume of boxes that an outcome dominates."""
    reads = [curves(residual) for residual in residuals]
    edges = [np.unique(np.r_[boxes.lower[:, k], boxes.upper[:, k]]) for k in range(len(fits))]
    edges = [some[np.isfinite(some)] for some in edges]
    highs = [
        np.searchsorted(some, column) for some, column in zip(edges, boxes.upper.T, strict=True)
    ]
    # A lower end of −∞ is the row after the last edge: nothing falls short of it.
    lows = [
        np.where(np.isinf(column), some.size, np.searchsorted(some, column))
        for some, column in zip(edges, boxes.lower.T, strict=True)
    ]

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
        log_volumes = np.zeros((boxes.upper.shape[0], X.shape[0]))
        parts = []
        for fitted, read, edge, low, high in zip(fits, reads, edges, lows, highs, strict=True):
            assert isinstance(fitted, GaussianBelief)
            mean, std, pullback = fitted.posterior(X)
            v = (edge[:, None] - mean) / std
            value, slope = read.log_shortfall(v)
            value = np.vstack([value, np.full(mean.size, -np.inf)])
            gap = np.minimum(value[low] - value[high], _SMALLEST_GAP)
            log_volumes += np.log(std) + value[high] + np.log(-np.expm1(gap))
            parts.append((v, slope, gap, std, pullback))
        peak = log_volumes.max(axis=0)
        share = np.exp(log_volumes - peak)
        summed = share.sum(axis=0)

        def gradient() -> FloatArray:
            by_x = np.zeros_like(X)
            for (v, slope, gap, std, pullback), low, high in zip(parts, lows, highs, strict=True):
                nothing = np.zeros(std.size)
                slope, moved = np.vstack([slope, nothing]), np.vstack([slope * v, nothing])
                below = -np.exp(gap) / np.expm1(gap)  # ψ(l) in units of ψ(u) − ψ(l)
                by_goal = slope[high] + below * (slope[high] - slope[low])
                by_scale = moved[high] + below * (moved[high] - moved[low])
                of_boxes = share / summed
                by_x += pullback(
                    -(of_boxes * by_goal).sum(axis=0) / std,
                    (1.0 - (of_boxes * by_scale).sum(axis=0)) / std,
                )
            return by_x

        return peak + np.log(summed), gradient

    return evaluate


def beyond(front: FloatArray, margin: float = _MARGIN) -> FloatArray:
    """Return a reference point beyond the worst values on a front, (points, objectives).

    What lies beyond the ends of the front so far then counts, and what is far worse does not.
    """
    worst = front.max(axis=0)
    extent = np.maximum(worst - front.min(axis=0), _LEAST_EXTENT)
    return np.asarray(worst + margin * extent)


def _spread_out(front: FloatArray, most: int) -> FloatArray:
    """Return at most so many points of a front: its ends, then always the farthest from the others.

    So no part of the front looks open that is not.
    """
    if front.shape[0] <= most:
        return front
    kept = list(dict.fromkeys(front.argmin(axis=0).tolist()))
    away = np.min([np.abs(front - front[i]).max(axis=1) for i in kept], axis=0)
    while len(kept) < most:
        kept.append(int(away.argmax()))
        away = np.minimum(away, np.abs(front - front[kept[-1]]).max(axis=1))
    return front[kept]
