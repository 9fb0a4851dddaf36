"""Fronts of several objectives, all minimised: what is not dominated, and the volume that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray


class Boxes(NamedTuple):
    """Disjoint boxes, each with one row: lower ends, which may be −∞, and upper ends."""

    lower: FloatArray  # (boxes, objectives)
    upper: FloatArray  # (boxes, objectives)


def non_dominated(Y: FloatArray) -> NDArray[np.bool_]:
    """Return which rows are on the Pareto front; of equal ones, the first."""
    front = np.zeros(Y.shape[0], dtype=bool)
    best: FloatArray = np.empty((0, Y.shape[1]))
    for row in np.lexsort(Y.T[::-1]):  # by the first objective: only what came before can dominate
        if not np.any(np.all(best <= Y[row], axis=1)):
            front[row] = True
            best = np.vstack([best, Y[row]])
    return front


def not_dominated_boxes(front: FloatArray, reference: FloatArray) -> Boxes:
    """Return the region below a reference point that no point of a front dominates, as boxes.

    Each point p cuts what it dominates off every box that it lies in, along one objective after
    the other: below p in the first; not below it in the first, but in the second; and so on. For
    two objectives in the order of the first, n points leave n + 1 boxes, the fewest possible.

    Args:
        front: points, (n, objectives), in any order; those beyond the reference change nothing.
        reference: the values beyond which nothing counts, (objectives,).
    """
    lower, upper = np.full((1, reference.size), -np.inf), reference[None].astype(float)
    for p in front[np.lexsort(front.T[::-1])]:
        cut = np.all(p < upper, axis=1)
        lows, highs = [lower[~cut]], [upper[~cut]]
        for j, value in enumerate(p):
            some = cut & (lower[:, j] < value)
            low, high = lower[some], upper[some]  # copies
            low[:, :j], high[:, j] = np.maximum(low[:, :j], p[:j]), value
            lows.append(low)
            highs.append(high)
        lower, upper = np.concatenate(lows), np.concatenate(highs)
    return Boxes(lower, upper)


def hypervolume(Y: FloatArray, reference: FloatArray) -> float:
    """Return the volume between points and a reference that the points dominate."""
    Y = Y[np.all(reference > Y, axis=1)]
    if not Y.size:
        return 0.0
    ideal = Y.min(axis=0)  # above it, what is not dominated is bounded
    lower, upper = not_dominated_boxes(Y[non_dominated(Y)], reference)
    free = np.maximum(upper - np.maximum(lower, ideal), 0.0).prod(axis=1).sum()
    return max(0.0, float((reference - ideal).prod() - free))
