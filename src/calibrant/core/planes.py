"""Linear rules between the numbers along some coordinates of a cube, such as a + b <= 1.

The rules are about numbers as the user sees them, of which some are whole or on a log scale; points
are of the unit cube. What is here finds points and climbs along the rules. Whether a point keeps to
them is for the rule itself to say, in the user's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray

_MARGIN = 1e-12  # of the range: so that rounding does not carry a point over the plane it is put on
_STEPS = 12  # changes of one number, per number and rule, before a point is given up
_EXACT = 1e-13  # the same, of points that are mended
EQUAL = 1e-9  # sums that differ by less, as a share of their size, are equal


@dataclass(frozen=True)
class Scale:
    """The numbers along one coordinate.

    Args:
        low: the smallest.
        high: the largest.
        step: between two of them; 0 where there are any in between.
        log: whether the coordinate is their logarithm.
        to_unit: from a number to the coordinate.
        from_unit: and back.
    """

    low: float
    high: float
    step: float
    log: bool
    to_unit: Callable[[float], float]
    from_unit: Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Planes:
    """Rules ``weights @ numbers <= bounds``.

    Args:
        scales: by column of the cube, the numbers that the rules are about.
        weights: one row per rule, one column per scale, (k, s).
        bounds: one per rule, (k,).
        equal: which rules hold with equality only, (k,).
    """

    scales: Mapping[int, Scale]
    weights: FloatArray
    bounds: FloatArray
    equal: NDArray[np.bool_]

    @cached_property
    def _columns(self) -> list[int]:
        return list(self.scales)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        low = np.array([scale.low for scale in self.scales.values()])
        return low, np.array([scale.high for scale in self.scales.values()])

    @cached_property
    def _size(self) -> FloatArray:
        """What a rule changes by over the whole of its numbers' ranges, (k,)."""
        low, high = self._ends
        return np.maximum(np.abs(self.weights) @ (high - low), 1e-300)

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much each rule is exceeded at a point, and the derivative, (k,) (k, dim).

        Both as a share of what the rule can change by.
        """
        numbers = self._numbers(x[None])[0]
        along = [
            number * np.log(scale.high / scale.low) if scale.log else scale.high - scale.low
            for number, scale in zip(numbers, self.scales.values(), strict=True)
        ]
        by_x = np.zeros((self.bounds.size, x.size))
        by_x[:, self._columns] = self.weights * np.array(along)
        excess = (self.weights @ numbers - self.bounds) / self._size
        return excess, by_x / self._size[:, None]

    def mend(self, X: FloatArray, rng: np.random.Generator | None = None) -> FloatArray:
        """Return points of which one number after the other is changed until all rules hold.

        Args:
            X: points, (m, dim).
            rng: draws changed numbers from all that keep to a rule; without it, they change as
                little as they can. Some points may not be mended.
        """
        numbers, before = self._numbers(X), None
        least, rng = rng is None, rng or np.random.default_rng(0)  # always the same changes then
        for _ in range(_STEPS * sum(self.weights.shape)):
            excess = numbers @ self.weights.T - self.bounds
            size = np.maximum(np.abs(self.bounds), np.abs(numbers) @ np.abs(self.weights).T)
            broken = np.where(self.equal, np.abs(excess) > _EXACT * size, excess > 0.0)
            rows = np.flatnonzero(broken.any(axis=1))
            if not rows.size:
                break
            before = numbers.copy() if before is None else before
            self._change(numbers, rows, np.where(broken, excess, 0.0), rng, least)
        mended = X.copy()
        if before is None:
            return mended
        for place, (column, scale) in enumerate(self.scales.items()):
            changed = np.flatnonzero(numbers[:, place] != before[:, place])
            mended[changed, column] = [scale.to_unit(v) for v in numbers[changed, place].tolist()]
        return mended

    def _change(
        self,
        numbers: FloatArray,
        rows: NDArray[np.intp],
        excess: FloatArray,
        rng: np.random.Generator,
        least: bool,
    ) -> None:
        """Change one number of each row, so that the rule it breaks most is broken less."""
        low, high = self._ends
        rule = np.argmax(np.abs(excess[rows]) / self._size, axis=1)
        over = excess[rows, rule]
        weights = self.weights[rule]
        down = over[:, None] * weights > 0.0
        here = numbers[rows]
        room = np.where(down, here - low, high - here) > 0.0
        # Any of them: to choose by size would change the same few numbers to and fro.
        worth = np.where(room & (weights != 0.0), rng.random(weights.shape) + 1e-9, 0.0)
        place = np.argmax(worth, axis=1)
        each = np.arange(rows.size)
        decrease, weight, value = down[each, place], weights[each, place], here[each, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = np.where(weight != 0.0, value - over / weight, value)
        equal = self.equal[rule]
        ends = np.where(decrease, low[place], high[place])
        for i, (row, column) in enumerate(zip(rows, place, strict=True)):
            scale = self.scales[self._columns[column]]
            share = 0.0 if least else float(rng.random())
            if not least and not scale.low <= limit[i] <= scale.high:
                # More than this number alone can give: part of it, so that others give theirs.
                target = _between(scale, float(value[i]), float(ends[i]), 0.5 + 0.5 * share)
            else:
                share = 0.0 if equal[i] else share
                target = _between(scale, float(limit[i]), float(ends[i]), share)
            if not equal[i]:
                target -= (1.0 if decrease[i] else -1.0) * _MARGIN * (scale.high - scale.low)
            numbers[row, column] = _on_grid(scale, target, None if equal[i] else bool(decrease[i]))

    def anchor(self, dim: int) -> FloatArray | None:
        """Return a point that is as far inside all rules as any, or None if there is none."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # takes 0.1 s to load

        low, high = self._ends
        step = np.array([scale.step for scale in self.scales.values()])
        whole = step > 0.0
        unit = np.where(whole, step, 1.0)
        most = np.where(whole, np.floor((high - low) / unit + 1e-8), high - low)
        offset = self.weights @ low
        inside = np.where(self.equal, 0.0, self._size)
        table = np.column_stack([self.weights * unit, inside])
        least = np.where(self.equal, self.bounds - offset, -np.inf)
        found = milp(
            np.append(np.zeros(low.size), -1.0),
            integrality=np.append(whole, False),
            bounds=Bounds(np.zeros(low.size + 1), np.append(most, 1.0)),
            constraints=LinearConstraint(table, least, self.bounds - offset),
            options={"time_limit": 5.0},
        )
        if found.x is None:
            return None
        x = np.full(dim, 0.5)
        for place, (column, scale) in enumerate(self.scales.items()):
            number = low[place] + unit[place] * found.x[place]
            x[column] = scale.to_unit(float(np.clip(number, scale.low, scale.high)))
        return x

    def _numbers(self, X: FloatArray) -> FloatArray:
        columns = [
            [scale.from_unit(u) for u in X[:, column].tolist()]
            for column, scale in self.scales.items()
        ]
        return np.array(columns).reshape(len(self.scales), -1).T


def _between(scale: Scale, one: float, other: float, share: float) -> float:
    """Return the number at a share of the way from one to another, both held inside the range."""
    one, other = (min(max(number, scale.low), scale.high) for number in (one, other))
    if scale.log:
        return float(np.exp((1.0 - share) * np.log(one) + share * np.log(other)))
    return (1.0 - share) * one + share * other


def _on_grid(scale: Scale, number: float, down: bool | None) -> float:
    """Return the next number of the scale, downwards or upwards; None: the nearest."""
    if scale.step:
        places = (number - scale.low) / scale.step
        near = round(places)
        if down is not None and abs(places - near) > 1e-6:
            near = int(np.floor(places) if down else np.ceil(places))
        number = scale.low + near * scale.step
    return min(max(number, scale.low), scale.high)
