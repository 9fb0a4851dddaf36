"""Optuna's search spaces as unit cubes.

Numbers are spread evenly over [0, 1], on a log scale where the distribution says so. Of k listed
values (integers, steps, categories) each sits in the middle of its own k-th of [0, 1], so that all
are equally likely under a uniform draw. Parameters with a single value have no coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.core.cube import MIDDLE, Axis, Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.studies.optuna_private import contains
from calibrant.studies.space_text import is_ordered
from calibrant.studies.structure import NOTHING, Structure

_FAR = 10.0  # widths of the cube: an outcome further away says nothing about points inside
_FEW = 16  # a list of at most this many values may be a parent even if no value occurred twice
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


@dataclass(frozen=True)
class Condition:
    """A parameter exists if its parent has one of these internal values (None: if it has none).

    With ``also``, these conditions must hold as well.
    """

    parent: str
    values: frozenset[float | None]
    also: tuple[Condition, ...] = ()

    @property
    def all_of_it(self) -> tuple[Condition, ...]:
        """The conditions that must all hold."""
        return (self, *self.also)


@dataclass(frozen=True)
class Space:
    """A search space as a unit cube.

    Args:
        distributions: by name; those with a single value are left out.
        conditions: of parameters that exist only in some trials; parents come before children.
        trials: the parameters of past trials. A point that agrees with a trial in all of them would
            be that trial again, whatever its other coordinates are.
        structure: orders and permutations among the parameters.
    """

    distributions: Mapping[str, BaseDistribution]
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    trials: Sequence[Internal] = field(default=(), repr=False, compare=False)
    structure: Structure = NOTHING
    coordinates: dict[str, Coordinate] = field(init=False, repr=False, compare=False)
    cube: Cube = field(init=False, repr=False, compare=False)
    _paths: dict[tuple[int, ...], set[bytes]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        coordinates = {
            name: self._coordinate(name, distribution)
            for name, distribution in sorted(searchable(self.distributions).items())
        }
        object.__setattr__(self, "coordinates", coordinates)
        axes = tuple(coordinate.axis for coordinate in coordinates.values())
        object.__setattr__(self, "_paths", self._unexplained_paths())
        cube = Cube(axes, self._absent if self.conditions or self._paths else None)
        object.__setattr__(self, "cube", cube)

    def _coordinate(self, name: str, distribution: BaseDistribution) -> Coordinate:
        coordinate, known = _coordinate(distribution), self.structure
        if not isinstance(distribution, CategoricalDistribution):
            return coordinate
        if name in known.ordered:
            return replace(coordinate, axis=replace(coordinate.axis, categorical=False))
        items = len(known.permutations.get(name, ()))
        if items and len(distribution.choices) == math.factorial(items):
            return replace(coordinate, axis=replace(coordinate.axis, items=items))
        return coordinate

    def row(self, params: Internal) -> FloatArray:
        """Return the point of some internal values; a missing parameter is put in the middle.

        A value from before a range was changed may lie outside the cube, and stays there.
        """
        point = np.full(self.cube.dim, MIDDLE)
        for column, (name, coordinate) in enumerate(self.coordinates.items()):
            if name in params:
                point[column] = coordinate.to_unit(params[name])
        # A range that is logarithmic now may have been linear, and zero has no logarithm.
        return np.asarray(np.clip(np.nan_to_num(point, nan=MIDDLE), -_FAR, 1.0 + _FAR))

    def internal(self, x: FloatArray) -> dict[str, float]:
        """Return the internal values of a point, without the parameters that do not exist there."""
        values = {
            name: coordinate.from_unit(float(u))
            for (name, coordinate), u in zip(self.coordinates.items(), x, strict=True)
        }
        return self.existing(values)

    def existing(self, params: Internal) -> dict[str, float]:
        """Return the parameters that exist given the others, as far as past trials show."""
        kept = dict(params)
        for name, condition in self.conditions.items():
            if name in kept and not all(
                kept.get(one.parent) in one.values for one in condition.all_of_it
            ):
                del kept[name]
        return kept

    def is_whole(self, params: Internal) -> bool:
        """Whether no parameter is missing that should exist given the others."""
        every = {name: params.get(name, np.nan) for name in self.coordinates}
        return self.existing(every).keys() <= params.keys()

    def _absent(self, X: FloatArray) -> NDArray[np.bool_]:
        """Return which coordinates do not exist, as a vectorised form of :meth:`existing`."""
        columns = {name: column for column, name in enumerate(self.coordinates)}
        absent = np.zeros(X.shape, dtype=bool)
        for name, condition in self.conditions.items():
            for one in condition.all_of_it:
                parent = columns[one.parent]
                to_unit = self.coordinates[one.parent].to_unit
                allowed = [to_unit(value) for value in one.values if value is not None]
                fits = (np.abs(X[:, parent, None] - np.array(allowed)) < 1e-9).any(axis=1)
                exists = np.where(absent[:, parent], None in one.values, fits)
                absent[:, columns[name]] |= ~exists
        for asked, known in self._paths.items():
            again = np.array([key in known for key in keys(X[:, asked])])
            others = np.delete(np.arange(X.shape[1]), asked)
            absent[np.ix_(again, others)] = True
        return absent

    def _unexplained_paths(self) -> dict[tuple[int, ...], set[bytes]]:
        """Return the trials that used fewer parameters than the conditions say, by their columns.

        Only trials whose parameters all have listed values count, because no other point occurs
        twice. A missing parameter counts only if an earlier trial had it: an objective may have got
        new parameters since.
        """
        expected = self.coordinates.keys() - self.conditions.keys()
        listed = {name for name, coordinate in self.coordinates.items() if coordinate.axis.values}
        columns = {name: column for column, name in enumerate(self.coordinates)}
        paths: dict[tuple[int, ...], set[bytes]] = {}
        met: set[str] = set()
        for params in self.trials:
            met |= params.keys()
            left_out = expected - params.keys()
            asked = [name for name in self.coordinates if name in params] if left_out else []
            if asked and left_out <= met and listed.issuperset(asked):
                point = np.array([[self.coordinates[name].to_unit(params[name]) for name in asked]])
                paths.setdefault(tuple(columns[n] for n in asked), set()).update(keys(point))
        return paths

    def to_internal(self, params: Mapping[str, Any], outside: bool = False) -> dict[str, float]:
        """Return the internal values of the parameters that are part of the space.

        Args:
            params: as the objective sees them.
            outside: keep numbers outside their range, as in trials from before the range was
                changed.
        """
        internal = {}
        for name, coordinate in self.coordinates.items():
            if name in params:
                given = params[name]
                if name in self.structure.permutations and isinstance(given, list | tuple):
                    given = ",".join(map(str, given))  # as the objective sees it
                try:
                    value = coordinate.distribution.to_internal_repr(given)
                except (ValueError, TypeError):
                    continue  # not a value of this parameter; Optuna reports it when it is used
                numeric = not isinstance(coordinate.distribution, CategoricalDistribution)
                if contains(coordinate.distribution, value) or (outside and numeric):
                    internal[name] = value
        return internal

    def external(self, params: Internal) -> dict[str, Any]:
        """Return parameters as the objective sees them."""
        return {
            name: self.coordinates[name].distribution.to_external_repr(value)
            for name, value in params.items()
        }


def union(
    spaces: Sequence[Mapping[str, BaseDistribution]],
) -> dict[str, BaseDistribution]:
    """Return the parameters of all trials, with the last range of each."""
    every: dict[str, BaseDistribution] = {}
    for distributions in spaces:
        every.update(distributions)
    return searchable(dict(sorted(every.items())))


def searchable(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """Return the parameters that have more than one value.

    A range so narrow that both its ends map to the same number is left out too.
    """
    return {name: dist for name, dist in distributions.items() if not _is_single(dist)}


def _is_single(distribution: BaseDistribution) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.single()
    return _is_one_number(distribution)


@lru_cache(maxsize=1024)  # asked of each parameter several times a suggestion
def _is_one_number(distribution: BaseDistribution) -> bool:
    if distribution.single():
        return True
    with np.errstate(all="ignore"):
        coordinate = _coordinate(distribution)
        low, high = coordinate.from_unit(0.0), coordinate.from_unit(1.0)
        return not (coordinate.to_unit(low) < coordinate.to_unit(high))


def conditions(
    distributions: Mapping[str, BaseDistribution], trials: Sequence[Internal]
) -> dict[str, Condition]:
    """Return the conditions under which parameters exist, inferred from trials.

    A parameter is conditional if some trials have it and some do not. Its parent is a parameter
    with listed values, each of which occurs either always or never together with it. A parent must
    exist in all trials, or have a condition itself, found before those of its children. Otherwise
    two branches of an unseen decision would explain each other.
    """
    always = {name for name in distributions if all(name in params for params in trials)}
    never = {name for name in distributions if not any(name in params for params in trials)}
    open_cases = [name for name in distributions if name not in always | never]
    found: dict[str, Condition] = {}
    parents: Set[str] = always
    while parents:
        listed = {name: values for name in parents if (values := _listed(distributions[name]))}
        new = {
            child: condition
            for child in open_cases
            if child not in found and (condition := _condition(child, listed, trials))
        }
        found |= new
        parents = new.keys()
    return found


def declared_conditions(
    structure: Structure, distributions: Mapping[str, BaseDistribution]
) -> dict[str, Condition]:
    """Return the conditions that were written down beforehand, of the parameters that there are.

    A parent with a single value has no coordinate, and is left out.
    """
    found: dict[str, Condition] = {}
    searched = searchable(distributions)
    for name, parents in structure.conditions.items():
        each = [
            Condition(parent, frozenset(map(searched[parent].to_internal_repr, values)))
            for parent, values in parents.items()
            if name in searched and parent in searched
        ]
        if each:
            found[name] = replace(each[0], also=tuple(each[1:]))
    return found


def parents_first(found: Mapping[str, Condition]) -> dict[str, Condition]:
    """Return conditions in an order in which a parameter comes after those it depends on."""
    ordered: dict[str, Condition] = {}
    while len(ordered) < len(found):
        ready = {
            name: condition
            for name, condition in found.items()
            if name not in ordered
            and all(o.parent not in found or o.parent in ordered for o in condition.all_of_it)
        }
        if not ready:  # inferred from trials, they may contradict what was written down
            return ordered
        ordered |= ready
    return ordered


def _condition(
    child: str, parents: Mapping[str, list[float]], trials: Sequence[Internal]
) -> Condition | None:
    """Return the condition of a parameter, on the parent with the fewest values that explains it.

    Parent values not seen yet are assumed to go with it; the next trial will show. A long list
    whose values hardly ever occur twice would explain anything, so it cannot be a parent.
    """
    for parent, every in sorted(parents.items(), key=lambda item: (len(item[1]), item[0])):
        present = {params.get(parent) for params in trials if child in params}
        absent = {params.get(parent) for params in trials if child not in params}
        chance = len(every) > _FEW and 2 * len(present | absent) > len(trials)
        if not present & absent and not chance:
            return Condition(parent, frozenset(({*every} | present) - absent))
    return None


def _listed(distribution: BaseDistribution) -> list[float]:
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


def _coordinate(distribution: BaseDistribution) -> Coordinate:
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
    return float((np.log(value) - start) / span) if value > 0.0 else -_FAR


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
