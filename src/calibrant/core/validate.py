"""Checks of user input; each message states the rule, the value that broke it, and the remedy."""

from __future__ import annotations

import operator
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray

Chosen = TypeVar("Chosen", bound=StrEnum)


def as_floats(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float array; raise a TypeError if it is not numeric."""
    try:
        if isinstance(value, np.ma.MaskedArray):  # masked values are missing values
            return np.asarray(np.ma.filled(value.astype(float), np.nan))
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must be numeric, but got {value!r}.") from error


def finite(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float array without NaN or infinity."""
    array = as_floats(name, value)
    good = np.isfinite(array)
    if not good.all():
        bad = ~good
        raise ValueError(
            f"`{name}` must be finite, but got {name}={array[bad].flat[0]}"
            f"{_place(bad)}; leave out or repair missing values first."
        )
    return array


def positive(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float array of finite numbers above zero."""
    array = finite(name, value)
    bad = array <= 0.0
    if bad.any():
        raise ValueError(
            f"`{name} > 0` must hold, but got {name}={array[bad].flat[0]}{_place(bad)}."
        )
    return array


def not_negative(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float array of finite numbers, none below zero."""
    array = finite(name, value)
    bad = array < 0.0
    if bad.any():
        raise ValueError(
            f"`{name} >= 0` must hold, but got {name}={array[bad].flat[0]}{_place(bad)}."
        )
    return array


def training_data(X: ArrayLike, y: ArrayLike, at_least: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return finite inputs of shape (n, d) and outcomes of shape (n,)."""
    X, y = finite("X", X), finite("y", y)
    if X.ndim != 2 or y.ndim != 1 or X.shape[0] != y.size:
        raise ValueError(
            f"`X` must have shape (n, d) and `y` shape (n,), but got {X.shape} and {y.shape}."
        )
    if y.size < at_least:
        raise ValueError(f"At least {at_least} outcomes are needed, but got {y.size}.")
    return X, y


def probabilities(name: str, value: ArrayLike) -> FloatArray:
    """Return ``value`` as a float array inside [0, 1]."""
    array = as_floats(name, value)
    bad = ~((array >= 0.0) & (array <= 1.0))
    if bad.any():
        raise ValueError(
            f"`0 <= {name} <= 1` must hold, but got {name}={array[bad].flat[0]}{_place(bad)}."
        )
    return array


def levels_grid(levels: int | ArrayLike) -> FloatArray:
    """Return strictly increasing levels inside (0, 1); an integer m gives k/(m+1), k = 1 … m."""
    if isinstance(levels, (int, np.integer)) and not isinstance(levels, bool):
        if levels < 1:
            raise ValueError(f"`levels >= 1` must hold, but got levels={levels}.")
        return frozen(np.arange(1, int(levels) + 1) / (int(levels) + 1))
    grid = np.atleast_1d(as_floats("levels", levels))
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"`levels` must be a non-empty 1-D grid, but got shape {grid.shape}.")
    bad = ~((grid > 0.0) & (grid < 1.0))
    if bad.any():
        raise ValueError(f"`0 < level < 1` must hold, but got level={grid[bad][0]}{_place(bad)}.")
    if np.any(np.diff(grid) <= 0.0):
        raise ValueError("`levels` must be strictly increasing; pass `sorted(set(levels))`.")
    return frozen(grid)


def one_outcome_each(batch: tuple[int, ...], y: ArrayLike) -> FloatArray:
    """Return finite outcomes, one per point of a forecast of shape ``batch``."""
    y = finite("y", y)
    if y.shape != batch:
        raise ValueError(
            "One outcome per forecast point is needed, but got shape "
            f"{y.shape} for a forecast of shape {batch}."
        )
    return y


def choice(name: str, choices: type[Chosen], value: str) -> Chosen:
    """Return ``value`` as a member of ``choices``; raise an error that lists them if it is none."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(f'"{one.value}"' for one in choices)
        raise ValueError(f"`{name}` must be one of {known}, but got {value!r}.") from None


def whole(name: str, value: int) -> int:
    """Return ``value`` as an integer; raise a TypeError if it is not a whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"`{name}` must be a whole number, but got {value!r}; leave it out for the default."
        ) from None


def at_least(name: str, value: int, low: int) -> int:
    """Return ``value`` as an integer of at least ``low``."""
    if (number := whole(name, value)) < low:
        raise ValueError(f"`{name} >= {low}` must hold, but got {name}={number}.")
    return number


def coverage_level(coverage: float) -> float:
    """Return the coverage of an interval, strictly between 0 and 1."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"`0 < coverage < 1` must hold, but got coverage={coverage}.")
    return coverage


def probability_level(name: str, level: float) -> float:
    """Return a probability that something should have, strictly between 0 and 1."""
    if not 0.0 < as_floats(name, level) < 1.0:
        raise ValueError(f"`0 < {name} < 1` must hold, but got {name}={level}.")
    return level


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy, so that callers cannot change an object through its arrays."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def _place(bad: np.ndarray) -> str:
    """Return where the first bad value stands and how many there are; "" for a scalar."""
    if bad.size == 1:
        return ""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = index[0] if len(index) == 1 else index
    return f" at position {where} ({int(bad.sum())} of {bad.size} break the rule)"


def like(name: str, value: object, expected: type, example: str) -> None:
    """Raise a TypeError unless ``value`` is an instance of ``expected``, such as ``example``."""
    if isinstance(value, type) or not isinstance(value, expected):
        raise TypeError(f"`{name}` must be an object such as {example}, but got {value!r}.")


def function(name: str, value: object, example: str) -> None:
    """Raise a TypeError unless ``value`` can be called, as ``example`` can."""
    if isinstance(value, type) or not callable(value):
        raise TypeError(f"`{name}` must be a function such as {example}, but got {value!r}.")
