"""Climbing a criterion from some points, inside the rule of a cube where it has one.

Without a rule, all starts follow the gradient at once. Linear rules are kept on the way, one start
after the other. What a climb ends at is mended or, where it breaks the rule, drawn back towards its
start. Where there is no gradient, and along rules that have none, points wander.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from calibrant.acquisition.base import Criterion
from calibrant.core.cube import MIDDLE, Cube
from calibrant.core.descent import descend
from calibrant.core.planes import Planes
from calibrant.core.typing import FloatArray

_SHARES = (1.0, 0.999, 0.99, 0.95, 0.85, 0.7, 0.5, 0.3, 0.15, 0.05)  # of a climb
_WIDTHS = (0.1, 0.05, 0.02, 0.01, 0.005)  # of the steps in which points wander
_OPTIONS = 20  # points tried in each step


def climb(
    criterion: Criterion, cube: Cube, starts: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Follow the gradient from all starts, which keep to the rule, and so do the ends."""
    if not cube.free.size:
        return starts
    rule = cube.rule
    if rule is None:
        return _ascend(criterion, cube, starts)
    if rule.planes is not None and cube.absent is None:
        ends = np.array([_along(criterion, cube, rule.planes, start) for start in starts])
    else:
        ends = _ascend(criterion, cube, starts)
    ends = _drawn_back(cube, starts, ends)
    return ends if rule.linear else wander(criterion, cube, ends, rng)


def wander(
    criterion: Criterion, cube: Cube, starts: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Without a gradient: move each point to the best around it, closer and closer ones."""
    if not cube.free.size:
        return starts
    points, rule = starts, cube.rule
    for width in _WIDTHS:
        options = np.repeat(points[:, None], _OPTIONS, axis=1)
        options[:, 1:, cube.free] += width * rng.standard_normal(
            (points.shape[0], _OPTIONS - 1, cube.free.size)
        )
        flat = cube.snap(options.reshape(-1, cube.dim))
        keeps = np.ones(len(flat), dtype=bool)
        if rule is not None:
            flat, keeps = rule.mend(cube, flat)
        options = flat.reshape(options.shape)
        values = np.where(keeps, criterion(flat)[0], -np.inf).reshape(options.shape[:2])
        points = options[np.arange(points.shape[0]), np.argmax(values, axis=1)]
    return points


def _ascend(criterion: Criterion, cube: Cube, starts: FloatArray) -> FloatArray:
    """Follow the gradient from all starts at once, wherever it leads."""
    X = starts.copy()

    # What does not exist for a start stays in the middle, and nothing depends on it.
    absent = None if cube.absent is None else cube.absent(starts)

    whole = cube.free.size == cube.dim

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        X[:, slice(None) if whole else cube.free] = flat.reshape(starts.shape[0], -1)
        if absent is not None:
            X[absent] = MIDDLE
        values, gradient = criterion(X)
        by_x = np.negative(gradient())  # type: ignore[misc]
        if absent is not None:
            by_x[absent] = 0.0
        return -float(values.sum()), (by_x if whole else by_x[:, cube.free]).ravel()

    ends_of = (cube.low or (0.0,) * cube.dim, cube.high or (1.0,) * cube.dim)
    low, high = (np.tile(np.array(ends)[cube.free], starts.shape[0]) for ends in ends_of)
    start = starts[:, cube.free].ravel()
    found = descend(loss, start, low, high, iterations=30, evaluations=40, ftol=1e-5, gtol=1e-4)
    ends = starts.copy()
    ends[:, cube.free] = found.x.reshape(starts.shape[0], -1)
    return cube.snap(ends)


def _along(criterion: Criterion, cube: Cube, planes: Planes, start: FloatArray) -> FloatArray:
    """Follow the gradient from one start, along the planes it meets (SLSQP)."""
    x, free = start.copy(), cube.free
    moving = np.any(planes.slopes(start)[1][:, free] != 0.0, axis=1)
    kinds = [("ineq", moving & ~planes.equal), ("eq", moving & planes.equal)]

    def at(free_part: FloatArray) -> FloatArray:
        x[free] = free_part
        return x

    def loss(free_part: FloatArray) -> tuple[float, FloatArray]:
        values, gradient = criterion(at(free_part)[None])
        return -float(values[0]), -gradient()[0, free]  # type: ignore[misc]

    rules: list[Any] = [
        {
            "type": kind,
            "fun": lambda u, rows=rows: -planes.slopes(at(u))[0][rows],
            "jac": lambda u, rows=rows: -planes.slopes(at(u))[1][np.ix_(rows, free)],
        }
        for kind, rows in kinds
        if rows.any()
    ]
    found = minimize(
        loss,
        start[free],
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * free.size,
        constraints=rules,
        options={"maxiter": 30, "ftol": 1e-5},
    )
    end = start.copy()
    end[free] = np.where(np.isfinite(found.x), found.x, start[free])
    return np.asarray(cube.snap(end[None])[0])


def _drawn_back(cube: Cube, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the furthest points on the way from starts to ends that keep to the rule."""
    assert cube.rule is not None
    kept, left = starts.copy(), np.arange(len(starts))
    bare = replace(cube, rule=None)
    for share in _SHARES:
        between = bare.snap(starts[left] + share * (ends[left] - starts[left]))
        between, good = cube.rule.mend(bare, between)
        kept[left[good]] = between[good]
        left = left[~good]
        if not left.size:
            break
    return kept
