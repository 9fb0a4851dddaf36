"""The unit cube that the search runs on: which coordinates are allowed, and how to spread points.

Every parameter is one coordinate in [0, 1]. Numbers with a step, integers and categories allow only
some values; an :class:`Axis` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.core import validate
from calibrant.core.typing import FloatArray

SMALL = 2000  # points of a finite cube that can all be looked at
MIDDLE = 0.5  # where a coordinate is that does not exist
_KRONECKER = 10  # dimensions up to which the sequence is even on every axis
_MANY = 500  # categories, beyond which only some are tried
_FEW = 16  # values that are all tried; of more, a logarithmic selection reaches every one in steps


class Design(StrEnum):
    """How the first points are spread."""

    SOBOL = "sobol"
    LATIN = "latin"
    RANDOM = "random"


@dataclass(frozen=True)
class Axis:
    """One coordinate.

    Args:
        values: the coordinates allowed, increasing; empty: all of [0, 1].
        categorical: whether the values are labels, without an order.
        rounding: the nearest allowed coordinate, where they are too many to list; the search
            treats them as continuous and rounds what it finds.
    """

    values: tuple[float, ...] = ()
    categorical: bool = False
    rounding: Callable[[FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        values = validate.as_floats("values", self.values)
        if not (np.all(np.diff(values) > 0.0) and np.all((values >= 0.0) & (values <= 1.0))):
            raise ValueError(
                f"`values` must be increasing and lie in [0, 1], but got {self.values}; for other "
                "numbers and for names use `minimize` or an Optuna study."
            )


@dataclass(frozen=True)
class Cube:
    """The product of some axes.

    Args:
        axes: one a coordinate.
        absent: which coordinates of which points do not exist, (m, dim), given the others; they
            are put in the middle, so that two points that differ only there are the same.
    """

    axes: tuple[Axis, ...]
    absent: Callable[[FloatArray], NDArray[np.bool_]] | None = None
    _grids: tuple[FloatArray, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.axes:
            raise ValueError("A search needs at least one parameter, but the space is empty.")
        object.__setattr__(self, "_grids", tuple(np.array(axis.values) for axis in self.axes))

    @classmethod
    def continuous(cls, dim: int) -> Cube:
        """Return the cube of ``dim`` real coordinates."""
        return cls((Axis(),) * dim)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.axes)

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """The coordinates that take any value in [0, 1]."""
        return np.array([i for i, axis in enumerate(self.axes) if not axis.values], dtype=np.intp)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """The coordinates that are labels."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.categorical)

    @cached_property
    def size(self) -> float:
        """The number of points, infinite if any coordinate is continuous."""
        if self.free.size:
            return float("inf")
        return float(np.prod([float(len(axis.values)) for axis in self.axes]))

    def snap(self, X: FloatArray) -> FloatArray:
        """Return the nearest allowed points."""
        X = np.clip(X, 0.0, 1.0)
        for column, (axis, grid) in enumerate(zip(self.axes, self._grids, strict=True)):
            if axis.rounding is not None:
                X[:, column] = axis.rounding(X[:, column])
            elif grid.size:
                middles = 0.5 * (grid[1:] + grid[:-1])
                X[:, column] = grid[np.searchsorted(middles, X[:, column], side="right")]
        if self.absent is not None:
            X[self.absent(X)] = MIDDLE
        return X

    def rounded(self, x: FloatArray, within: float) -> FloatArray:
        """Return a point with its coordinates as they are listed, where these are so near."""
        allowed = self.snap(x[None].copy())[0]
        return np.asarray(np.where(np.abs(allowed - x) <= within, allowed, x))

    def every_point(self) -> FloatArray:
        """Return all points of a finite cube."""
        mesh = np.meshgrid(*self._grids, indexing="ij")
        return self.snap(np.stack([part.ravel() for part in mesh], axis=1))

    def spread(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return points of a low-discrepancy sequence with a random shift.

        A Kronecker sequence: k·(1/ρ, 1/ρ², …) modulo 1 with ρ^(dim+1) = ρ + 1, after Roberts. It
        costs one line, needs no table, and does not wake scipy.stats. In many dimensions some of
        its steps come close to simple fractions; a Latin hypercube does not.
        """
        if self.dim > _KRONECKER:
            return self.design(Design.LATIN, count, rng)
        ratio = 2.0
        for _ in range(40):
            ratio = (1.0 + ratio) ** (1.0 / (self.dim + 1.0))
        steps = ratio ** -np.arange(1.0, self.dim + 1.0)
        points = (rng.random(self.dim) + np.arange(1, count + 1)[:, None] * steps) % 1.0
        return self.snap(points)

    def untaken(self, rng: np.random.Generator, taken: Set[bytes]) -> FloatArray:
        """Return a random point that is not taken; where all are, any."""
        points = self.every_point() if self.size <= SMALL else self.spread(64, rng)
        free = [x for x, key in zip(points, keys(points), strict=True) if key not in taken]
        choice = free or points
        return np.asarray(choice[rng.integers(len(choice))])

    def fixed(self, values: Mapping[int, float]) -> Cube:
        """Return the part of the cube in which some coordinates have given values."""
        axes = tuple(
            replace(axis, values=(values[column],), rounding=None) if column in values else axis
            for column, axis in enumerate(self.axes)
        )
        return Cube(axes, self.absent)

    def design(self, kind: Design | str, count: int, rng: np.random.Generator) -> FloatArray:
        """Return ``count`` first points."""
        match validate.choice("design", Design, kind):
            case Design.RANDOM:
                points = rng.random((count, self.dim))
            case Design.LATIN:
                cells = np.argsort(rng.random((count, self.dim)), axis=0)
                points = (cells + rng.random((count, self.dim))) / count
            case Design.SOBOL:
                from scipy.stats import qmc  # 0.3 s to load: only where it is asked for

                sobol = qmc.Sobol(self.dim, rng=rng)
                points = sobol.random_base2(int(np.ceil(np.log2(max(1, count)))))[:count]
        return self.snap(points)

    def neighbours(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the points that differ from x in one coordinate that has a list of values.

        All categories, of a great many some at random; of ordered values the nearest, and others
        twice as far each time.
        """
        moved: list[FloatArray] = []
        for column, (axis, grid) in enumerate(zip(self.axes, self._grids, strict=True)):
            if grid.size < 2:
                continue
            here = int(np.argmin(np.abs(grid - x[column])))
            if axis.categorical or grid.size <= _FEW:
                others = np.delete(np.arange(grid.size), here)
                if others.size > _MANY:
                    others = rng.choice(others, _MANY, replace=False)
            else:
                jumps = 2 ** np.arange(int(np.log2(grid.size)) + 1)
                others = here + np.concatenate([-jumps, jumps])
                others = others[(others >= 0) & (others < grid.size)]
            change = np.repeat(x[None], others.size, axis=0)
            change[:, column] = grid[others]
            moved.append(change)
        return self.snap(np.concatenate(moved)) if moved else np.empty((0, self.dim))


def keys(X: FloatArray) -> list[bytes]:
    """Return what tells points apart: coordinates to nine digits."""
    rounded = np.round(np.asarray(X, dtype=float), 9) + 0.0  # and −0 is 0
    return [row.tobytes() for row in rounded]


def as_cube(cube: int | Cube | Sequence[Axis]) -> Cube:
    """Return a cube from its dimension, its axes, or itself."""
    if isinstance(cube, Cube):
        return cube
    if isinstance(cube, (int, np.integer)) and not isinstance(cube, bool):
        if cube < 1:
            raise ValueError(f"`dim >= 1` must hold, but got dim={cube}.")
        return Cube.continuous(int(cube))
    if not isinstance(cube, Sequence) or not all(isinstance(axis, Axis) for axis in cube):
        raise TypeError(f"`dim` must be an integer, or a list of axes, but got {cube!r}.")
    return Cube(tuple(cube))
