"""Optuna's parameters on [0, 1].

Numbers are spread evenly over [0, 1], on a log scale where the distribution says so. Of k listed
values (integers, steps, categories) each sits in the middle of its own k-th of [0, 1], so that all
are equally likely under a uniform draw. Parameters with a single value have no coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.core.cube import Axis
from calibrant.core.typing import FloatArray
from calibrant.studies.optuna_private import contains
from calibrant.studies.space_text import is_ordered

FAR = 10.0  # widths of the cube: an outcome further away says nothing about points inside
_NUDGES = 64  # steps on either side of a value that are tried, where it is none of its list
_LISTED = 256  # the search treats up to this many values one by one, and rounds to longer lists

# Parameter values as Optuna stores them: floats, and for a category its index.
Internal = Mapping[str, float]


@dataclass(frozen=True)
class Coordinate:
    """One parameter on [0, 1]."""

    distribution: BaseDistribution
    axis: Axis
    to_unit: Callable[[float], float]  # of the internal value
    from_unit: Callable[[float], float]


def coordinate_of(distribution: BaseDistribution) -> Coordinate:
    """Return the coordinate of a parameter that has such values."""
    match distribution:
        case CategoricalDistribution():
            count = len(distribution.choices)
            labels = not is_ordered(distribution.choices)
            return _stepped(distribution, 0.0, count - 1.0, 1.0, count, categorical=labels)
        case IntDistribution(log=True):
            return _log_integers(distribution)
        case IntDistribution() | FloatDistribution(step=float()):
            low, high = float(distribution.low), float(distribution.high)
            step = float(distribution.step or 1)
            return _stepped(distribution, low, high, step, _count(distribution))
        case FloatDistribution():
            return _continuous(distribution)
    raise TypeError(
        f"Parameters must be floats, integers or categories, but got {type(distribution).__name__}."
    )


def is_value(distribution: BaseDistribution, value: Any) -> bool:
    """Return whether a parameter may have a value, given as the objective sees it."""
    try:
        return contains(distribution, distribution.to_internal_repr(value))
    except (ValueError, TypeError):
        return False


def searchable(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Return the parameters that have more than one value.

    A range so narrow that both its ends map to the same number is left out too.
    """
    return {name: dist for name, dist in distributions.items() if not _is_single(dist)}


def only_value(distribution: BaseDistribution) -> Any:
    """Return the value of a parameter that has a single one."""
    low = getattr(distribution, "low", None)
    return distribution.to_external_repr(0.0 if low is None else float(low))


def _is_single(distribution: BaseDistribution) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.single()
    return _is_one_number(distribution)


@lru_cache(maxsize=1024)  # asked of each parameter several times a suggestion
def _is_one_number(distribution: BaseDistribution) -> bool:
    if distribution.single():
        return True
    with np.errstate(all="ignore"):
        coordinate = coordinate_of(distribution)
        low, high = coordinate.from_unit(0.0), coordinate.from_unit(1.0)
        return not (coordinate.to_unit(low) < coordinate.to_unit(high))


def union(
    spaces: Sequence[Mapping[str, BaseDistribution]],
) -> dict[str, BaseDistribution]:
    """Return the parameters of all trials, with the last range of each."""
    every: dict[str, BaseDistribution] = {}
    for distributions in spaces:
        every.update(distributions)
    return searchable(dict(sorted(every.items())))


def listed(distribution: BaseDistribution) -> list[float]:
    """Return the internal values of a distribution that has few of them; otherwise none."""
    match distribution:
        case CategoricalDistribution():
            return [float(i) for i in range(len(distribution.choices))]
        case IntDistribution() if _count(distribution) <= _LISTED:
            return [
                float(v) for v in range(distribution.low, distribution.high + 1, distribution.step)
            ]
    return []


def _count(distribution: FloatDistribution | IntDistribution) -> int:
    """Return the number of values of a stepped distribution."""
    step = distribution.step
    assert step is not None
    return int(np.floor((distribution.high - distribution.low) / step + 1e-8)) + 1


def _continuous(distribution: FloatDistribution) -> Coordinate:
    low, high = distribution.low, distribution.high
    if distribution.log:
        start, span = np.log(low), (np.log(high) - np.log(low)) or 1.0
        return Coordinate(
            distribution,
            Axis(),
            lambda value: _log(value, start, span),
            lambda u: float(np.clip(np.exp(start + u * span), low, high)),
        )
    # Computed on halves, because the difference of two large floats may overflow.
    half = (high / 2.0 - low / 2.0) or 1.0
    return Coordinate(
        distribution,
        Axis(),
        lambda value: (value / 2.0 - low / 2.0) / half,
        lambda u: float(np.clip((low / 2.0 + u * half) * 2.0, low, high)),
    )


def _stepped(
    distribution: BaseDistribution,
    low: float,
    high: float,
    step: float,
    count: int,
    categorical: bool = False,
) -> Coordinate:
    """Return the coordinate of low, low + step, …, with value i at (i + ½)/count."""

    def index(u: float) -> float:
        return float(min(np.floor(u * count), count - 1))

    if count <= _LISTED or categorical:
        axis = Axis(tuple((i + 0.5) / count for i in range(count)), categorical)
    else:
        axis = Axis(rounding=lambda u: (np.minimum(np.floor(u * count), count - 1.0) + 0.5) / count)
    return Coordinate(
        distribution,
        axis,
        lambda value: (np.round((value - low) / step) + 0.5) / count,
        lambda u: _tidy(low + index(u) * step, distribution, high),
    )


def _tidy(value: float, distribution: BaseDistribution, high: float) -> float:
    """Return 0.3 for 0.30000000000000004, unless that is not a value of the distribution."""
    if isinstance(distribution, IntDistribution):
        return _within(min(value, high), distribution)  # exact up to 2⁵³
    tidy = float(f"{value:.14g}")
    if contains(distribution, tidy):
        return tidy
    return _within(min(value, high), distribution)  # 204 · 0.1 is above 20.4


def _within(value: float, distribution: BaseDistribution) -> float:
    """Return the number next to a value that Optuna takes for one of the distribution's.

    Of a billion steps, and of integers beyond 2⁵³, some have no float of their own.
    """
    stride = max(float(getattr(distribution, "step", None) or 0.0), float(np.spacing(abs(value))))
    for nudge in range(_NUDGES):
        for candidate in (value - nudge * stride, value + nudge * stride):
            if contains(distribution, candidate):
                return candidate
    return value


def _log(value: float, start: float, span: float) -> float:
    return float((np.log(value) - start) / span) if value > 0.0 else -FAR


def _log_integers(distribution: IntDistribution) -> Coordinate:
    low, high = distribution.low, distribution.high
    start = np.log(low - 0.5)
    span = np.log(high + 0.5) - start

    if high - low < _LISTED:
        values = np.arange(low, high + 1, dtype=float)
        places = (np.log(values) - start) / span
        # The nearest place on the axis, as the search rounds; not always the nearest number.
        middles = 0.5 * (places[1:] + places[:-1])
        return Coordinate(
            distribution,
            Axis(tuple(places.tolist())),
            lambda value: _log(value, start, span),
            lambda u: float(values[np.searchsorted(middles, u, side="right")]),
        )

    def nearest(u: ArrayLike) -> FloatArray:
        return np.asarray(np.clip(np.rint(np.exp(start + np.asarray(u) * span)), low, high))

    return Coordinate(
        distribution,
        Axis(rounding=lambda u: np.asarray((np.log(nearest(u)) - start) / span)),
        lambda value: _log(value, start, span),
        lambda u: _within(float(nearest(u)), distribution),
    )
