"""A test function: a function on a box, its minimum, and a minimiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray


@dataclass(frozen=True)
class Problem:
    """A function on a box, with a known minimum.

    Args:
        name: the name of the function.
        function: from points (n, dim) of the box to values (n,).
        box: lower and upper end of each coordinate.
        minimum: the lowest value in the box.
        where: a point with that value.
    """

    name: str
    function: Callable[[FloatArray], FloatArray]
    box: tuple[tuple[float, float], ...]
    minimum: float
    where: tuple[float, ...]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.box)

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the values at points of the box, shape (..., dim)."""
        points = self._points(x)
        return self.function(points.reshape(-1, self.dim)).reshape(points.shape[:-1])

    def on_cube(self, u: ArrayLike) -> FloatArray:
        """Return the values at points of the unit cube, scaled to the box."""
        low, high = np.array(self.box).T
        return self(low + (high - low) * self._points(u))

    def space(self) -> dict[str, tuple[float, float]]:
        """Return the box as a search space with coordinates x0, x1, …"""
        return {f"x{i}": ends for i, ends in enumerate(self.box)}

    def objective(self, parameters: Mapping[str, float]) -> float:
        """Return the value at a point of :meth:`space`."""
        return float(self([parameters[f"x{i}"] for i in range(self.dim)]))

    def _points(self, x: ArrayLike) -> FloatArray:
        points = validate.finite("x", x)
        if points.ndim < 1 or points.shape[-1] != self.dim:
            raise ValueError(
                f"`x` must have {self.dim} coordinates for {self.name}, but got {points.shape}."
            )
        return points


def shifted(problem: Problem, seed: int) -> Problem:
    """Return the same function on a box moved by up to a quarter of its width in each coordinate.

    The minimum is then no longer in the middle of the box, where some optimisers look first. Use it
    only for functions whose minimum is the lowest value anywhere, not only in their own box.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array(problem.box).T
    moved = rng.uniform(-0.25, 0.25, problem.dim) * (high - low)
    # Where the minimum would leave the box, the box moves the other way.
    where = np.array(problem.where)
    outside = (where < low + moved) | (where > high + moved)
    moved = np.where(outside, -moved, moved)
    box = tuple(zip((low + moved).tolist(), (high + moved).tolist(), strict=True))
    return replace(problem, name=f"{problem.name}, shifted {seed}", box=box)
