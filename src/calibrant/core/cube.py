"""The unit cube that the search runs on: its allowed coordinates, and points among them.

Every parameter is one coordinate in [0, 1]. Integers, categories and numbers with a step allow only
some values, which an :class:`Axis` lists. What may be tried can be less than the product of axes:
the points of a list, or those that keep to a rule (:mod:`calibrant.core.rule`). Whatever is drawn,
spread or enumerated here may be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.core import validate
from calibrant.core.designs import Design as Design
from calibrant.core.designs import designed, representatives, spread
from calibrant.core.rule import NothingToTry, Rule, scatter
from calibrant.core.typing import FloatArray

SMALL = 2000  # a finite cube with at most this many points is searched exhaustively
MIDDLE = 0.5  # the value given to a coordinate that does not exist
_COUNTED = 20_000  # with a rule, one of at most this many points is gone through once
_POOL = 512  # points of a list, or that keep to a rule, of which a design is a choice
_MANY = 500  # of more categories than this, only a random selection is tried
_FEW = 16  # up to this many values are all tried; of more, repeated jumps by powers of 2 reach all


class Order(int):
    """A coordinate whose labels are all orders of some items: some are more alike than others."""

    items: int

    def __new__(cls, column: int, items: int) -> Order:
        """Return the number of the coordinate, which knows how many items are ordered there."""
        made = super().__new__(cls, column)
        made.items = items
        return made

    def __reduce__(self) -> tuple[type[Order], tuple[int, int]]:
        return Order, (int(self), self.items)


@dataclass(frozen=True)
class Axis:
    """One coordinate of the cube.

    Args:
        values: the allowed coordinates in increasing order; empty means all of [0, 1].
        categorical: whether the values are labels, without an order.
        rounding: a function that returns the nearest allowed coordinate, for axes with too many
            values to list; the search treats such an axis as continuous and rounds its result.
        items: where the values are all orders of some items, as ``itertools.permutations`` counts
            them: how many items. They are labels as well.
    """

    values: tuple[float, ...] = ()
    categorical: bool = False
    rounding: Callable[[FloatArray], FloatArray] | None = None
    items: int = 0

    def __post_init__(self) -> None:
        values = validate.as_floats("values", self.values)
        if not (np.all(np.diff(values) > 0.0) and np.all((values >= 0.0) & (values <= 1.0))):
            raise ValueError(
                f"`values` must be increasing and lie in [0, 1], but got {self.values}; for other "
                "numbers and for names use `minimize` or an Optuna study."
            )


@dataclass(frozen=True)
class Cube:
    """The product of one or more axes.

    Args:
        axes: one per coordinate.
        absent: for conditional parameters: a function that maps points (m, dim) to a mask (m, dim)
            of the coordinates that do not exist. They are set to the middle of their axis, so that
            points that differ only there are equal.
        rule: what a point must keep to.
        listed: the only points there are, (n, dim), if they are a list; then there is no rule.
        given: the coordinates that were given rather than chosen (:meth:`fixed`).
        low, high: the ends of what each coordinate may be, if not 0 and 1 (:meth:`around`).
    """

    axes: tuple[Axis, ...]
    absent: Callable[[FloatArray], NDArray[np.bool_]] | None = None
    rule: Rule | None = None
    listed: FloatArray | None = field(default=None, repr=False, compare=False)
    given: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
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
        if self.listed is not None:
            return np.empty(0, dtype=np.intp)
        return np.array([i for i, axis in enumerate(self.axes) if not axis.values], dtype=np.intp)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """The coordinates that are labels, and those of them that are orders as such."""
        return tuple(
            Order(i, axis.items) if axis.items else i
            for i, axis in enumerate(self.axes)
            if axis.categorical
        )

    @cached_property
    def size(self) -> float:
        """The number of points, infinite if any coordinate is continuous; with a rule, at most."""
        if self.listed is not None:
            return float(len(self.listed))
        if self.free.size:
            return float("inf")
        return float(np.prod([float(len(axis.values)) for axis in self.axes]))

    @property
    def countable(self) -> bool:
        """Whether all points can be gone through."""
        most = SMALL if self.rule is None else _COUNTED
        return self.listed is not None or self.size <= most

    def every_point(self) -> FloatArray:
        """Return all points of a finite cube."""
        return self._points

    @cached_property
    def _points(self) -> FloatArray:
        if self.listed is not None:
            return self.listed
        mesh = np.meshgrid(*self._grids, indexing="ij")
        points = self.snap(np.stack([part.ravel() for part in mesh], axis=1))
        if self.rule is None:
            return points
        points = points[self.rule.holds(points)]
        if not len(points):
            raise NothingToTry(f"No setting keeps to {self.rule.words}.")
        return points

    @property
    def count(self) -> int:
        """The number of points of a cube that is countable."""
        return len(self._points) if self.rule is not None else int(self.size)

    @cached_property
    def point_keys(self) -> list[bytes]:
        """The keys of all points."""
        return keys(self._points)

    def outside(self, taken: Set[bytes]) -> FloatArray:
        """Return the points of a countable cube that are not among those taken."""
        return self._points[[key not in taken for key in self.point_keys]]

    def snap(self, X: FloatArray) -> FloatArray:
        """Return the nearest allowed point for each row of X."""
        X = np.clip(X, self.low or 0.0, self.high or 1.0)
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
        """Return x with each coordinate moved to its allowed value if that is ``within`` reach."""
        allowed = self.snap(x[None].copy())[0]
        return np.asarray(np.where(np.abs(allowed - x) <= within, allowed, x))

    def spread(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return points spread evenly (:func:`~calibrant.core.designs.spread`), and allowed.

        Of a list it is a random choice; points that keep to a rule may be fewer.
        """
        if self.listed is not None:
            return self.listed[rng.permutation(len(self.listed))[:count]]
        if self.rule is not None:
            return scatter(self, count, rng)
        return self._placed(spread(count, self.dim, rng))

    def untaken(self, rng: np.random.Generator, taken: Set[bytes]) -> FloatArray:
        """Return a random point outside ``taken``, or any random point if none is left.

        The candidates are all points of a small finite cube, or else 64 points spread over it.
        """
        if self.countable:
            choice = self.outside(taken)
            choice = choice if len(choice) else self._points
        else:
            points = self.spread(64, rng)
            free = [key not in taken for key in keys(points)]
            choice = points[free] if any(free) else points
        return np.asarray(choice[rng.integers(len(choice))])

    def fixed(self, values: Mapping[int, float]) -> Cube:
        """Return the slice of the cube in which some coordinates have given values."""
        axes = tuple(
            replace(axis, values=(values[column],), rounding=None) if column in values else axis
            for column, axis in enumerate(self.axes)
        )
        listed = self.listed
        if listed is not None:
            columns = list(values)
            here = np.abs(listed[:, columns] - [values[column] for column in columns]) < 1e-9
            listed = listed[here.all(axis=1)]
            if not len(listed):
                raise NothingToTry("None of the candidates has the given values.")
        given = tuple(sorted({*self.given, *values}))
        return replace(self, axes=axes, listed=listed, given=given)

    def around(self, x: FloatArray, reach: float) -> Cube:
        """Return the part in which no continuous coordinate is further than ``reach`` from x's.

        A list, and a cube with a rule, are left whole.
        """
        if self.listed is not None or self.rule is not None:
            return self
        low, high = np.zeros(self.dim), np.ones(self.dim)
        low[self.free] = np.maximum(x[self.free] - reach, 0.0)
        high[self.free] = np.minimum(x[self.free] + reach, 1.0)
        return replace(self, low=tuple(low.tolist()), high=tuple(high.tolist()))

    def design(self, kind: Design | str, count: int, rng: np.random.Generator) -> FloatArray:
        """Return ``count`` initial points, spread as ``kind`` says.

        Of a list, and of points that keep to a rule, they are a choice that represents the others.
        """
        if self.listed is not None or self.rule is not None:
            return representatives(self.spread(max(_POOL, count), rng), count, rng)
        kind = validate.choice("design", Design, kind)
        return self._placed(designed(kind, count, self.dim, rng))

    def _placed(self, points: FloatArray) -> FloatArray:
        """Return points of the whole cube, moved to where this one is, and allowed."""
        if self.low:
            points = np.array(self.low) + points * np.subtract(self.high, self.low)
        return self.snap(points)

    def neighbours(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return points that differ from x in one coordinate, among those with listed values.

        A categorical axis contributes all its other categories (a random selection if there are
        very many). An ordered axis contributes all its other values, or, if it has many, those 1,
        2, 4, … places away.
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
        if not moved:
            return np.empty((0, self.dim))
        changed = self.snap(np.concatenate(moved))
        if self.rule is None:
            return changed
        changed, good = self.rule.mend(self, changed, rng)
        return changed[good]


def keys(X: FloatArray) -> list[bytes]:
    """Return one hashable key per point; points that agree to nine decimals share a key."""
    rounded = np.round(np.asarray(X, dtype=float), 9) + 0.0  # adding 0 turns −0 into 0
    return [row.tobytes() for row in rounded]


def as_cube(cube: int | Cube | Sequence[Axis]) -> Cube:
    """Return a cube, given its dimension, its axes, or the cube itself."""
    if isinstance(cube, Cube):
        return cube
    if isinstance(cube, (int, np.integer)) and not isinstance(cube, bool):
        if cube < 1:
            raise ValueError(f"`dim >= 1` must hold, but got dim={cube}.")
        return Cube.continuous(int(cube))
    if not isinstance(cube, Sequence) or not all(isinstance(axis, Axis) for axis in cube):
        raise TypeError(f"`dim` must be an integer, or a list of axes, but got {cube!r}.")
    return Cube(tuple(cube))
