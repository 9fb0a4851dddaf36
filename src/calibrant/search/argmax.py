"""The point of the cube where a criterion is largest.

A quasi-random screening finds the promising regions; from the best few points, L-BFGS-B follows
the gradient in the continuous coordinates, all starts at once, and single changes of integers and
categories are tried in between (:mod:`~calibrant.search.climbing`). A small finite cube, and a list
of any length, are simply searched through. What a rule or a list leaves out is never returned.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from calibrant.acquisition.base import Criterion
from calibrant.core.cube import Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.search.climbing import climb, wander

_SCREENED = 512  # points, all valued in one matrix product
_AROUND = 128  # points near the best so far: in many dimensions screening alone misses them
_STARTS = 5  # climbs, made at once
_ROUNDS = 4  # of changing one integer or category at a time
_CHUNK = 4096  # points of a list valued at a time: 100,000 at once would take gigabytes
# Numbers, one per point and outcome, that are worked on at a time: new memory for more of them,
# which does not stay in the cache, takes several times as long as the arithmetic.
_AT_ONCE = 8_192
_FEWEST = 48  # points at a time all the same: each piece goes through the whole factor


def argmax(
    criterion: Criterion,
    cube: Cube,
    rng: np.random.Generator,
    near: FloatArray,
    taken: Set[bytes] = frozenset(),
    outcomes: int = 1,
) -> FloatArray:
    """Return the best point found that is not ``taken``.

    Args:
        criterion: what to maximise.
        cube: where.
        rng: randomness of the screening.
        near: points (k, dim) worth looking around, best first.
        taken: keys of points not to return again; when a finite cube has no others, it may.
        outcomes: how many the criterion goes by: the more, the fewer points are valued at a time.
    """
    if cube.countable:
        return _best_of_all(criterion, cube, rng, taken)
    candidates = _candidates(cube, rng, near)
    if not cube.free.size:  # chance does not hit the same real number twice
        candidates = _untaken(candidates, taken)
    if not candidates.shape[0]:  # all there is has been taken
        return cube.untaken(rng, taken)
    values, stepped = _screened(criterion, candidates, max(_FEWEST, _AT_ONCE // max(1, outcomes)))
    if stepped:  # trees are flat in places, and whole regions have the same value
        follow, promising = wander, _by_value_and_distance(values, candidates, near)[:_STARTS]
    else:
        follow, promising = climb, _largest(values, _STARTS)
    starts = candidates[promising]
    ends = follow(criterion, cube, starts, rng)
    if cube.free.size < cube.dim:
        for _ in range(_ROUNDS):
            changed = _best_changes(criterion, cube, ends, rng)
            if np.array_equal(changed, ends):
                break
            ends = follow(criterion, cube, changed, rng)
    # Often all climbs end where an evaluation has been: then the best of the screened points.
    final = _untaken(np.concatenate([ends, starts]), taken)
    if not final.shape[0]:
        final = _untaken(candidates, taken)
    if not final.shape[0]:
        return cube.untaken(rng, taken)
    values = criterion(final)[0]
    best = _by_value_and_distance(values, final, near)[0] if stepped else np.argmax(values)
    return np.asarray(final[best])


def _best_of_all(
    criterion: Criterion, cube: Cube, rng: np.random.Generator, taken: Set[bytes]
) -> FloatArray:
    """Return the best point of a cube that can be gone through."""
    points = cube.outside(taken)
    if not points.shape[0]:  # all there is has been taken
        return cube.untaken(rng, taken)
    chunks = [points[at : at + _CHUNK] for at in range(0, len(points), _CHUNK)]
    values = np.concatenate([criterion(chunk)[0] for chunk in chunks])
    return np.asarray(points[np.argmax(values)])


def _screened(criterion: Criterion, points: FloatArray, at_once: int) -> tuple[FloatArray, bool]:
    """Return the values of points, and whether the criterion is one without a gradient."""
    values, stepped = np.empty(len(points)), False
    for at in range(0, len(points), at_once):
        values[at : at + at_once], gradient = criterion(points[at : at + at_once])
        stepped = gradient is None
    return values, stepped


def _candidates(cube: Cube, rng: np.random.Generator, near: FloatArray) -> FloatArray:
    groups = [cube.spread(_SCREENED, rng)]
    if near.shape[0]:
        centres = near[np.arange(_AROUND) % near.shape[0]]
        # From a hundredth to a fifth of the cube, and often along a few coordinates only.
        width = np.exp(rng.uniform(np.log(0.01), np.log(0.2), (_AROUND, 1)))
        moves = rng.random((_AROUND, cube.dim)) < np.maximum(0.3, 2.0 / cube.dim)
        around = cube.snap(centres + width * moves * rng.standard_normal(centres.shape))
        if cube.rule is not None:
            around, keeps = cube.rule.mend(cube, around)
            around = around[keeps]
        groups.append(around)
        groups.extend(cube.neighbours(x, rng) for x in near[:2])
    return np.concatenate(groups)


def _untaken(X: FloatArray, taken: Set[bytes]) -> FloatArray:
    """Return the points that are not taken, each once."""
    seen = set(taken)
    keep = []
    for index, key in enumerate(keys(X)):
        if key not in seen:
            seen.add(key)
            keep.append(index)
    return X[keep]


def _largest(values: FloatArray, count: int) -> np.ndarray:
    count = min(count, values.size)
    return np.argpartition(-values, count - 1)[:count]


def _by_value_and_distance(values: FloatArray, X: FloatArray, near: FloatArray) -> np.ndarray:
    """Return the order of points by value, those with equal ones by distance from ``near``."""
    away = np.full(X.shape[0], np.inf)
    for x in near:
        away = np.minimum(away, ((X - x) ** 2).sum(axis=1))
    return np.lexsort((-away, -values))


def _best_changes(
    criterion: Criterion, cube: Cube, points: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return each point, or the best that differs from it in one listed coordinate."""
    options = [np.concatenate([x[None], cube.neighbours(x, rng)]) for x in points]
    values = np.split(
        criterion(np.concatenate(options))[0], np.cumsum([len(o) for o in options])[:-1]
    )
    return np.array([o[np.argmax(v)] for o, v in zip(options, values, strict=True)])
