"""Optuna's search spaces as unit cubes: their coordinates, and which of these exist when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution

from calibrant.core.cube import MIDDLE, Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.studies.conditions import Condition
from calibrant.studies.coordinates import FAR, Coordinate, Internal, coordinate_of, searchable
from calibrant.studies.optuna_private import contains
from calibrant.studies.structure import NOTHING, Structure


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
        coordinate, known = coordinate_of(distribution), self.structure
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
        return np.asarray(np.clip(np.nan_to_num(point, nan=MIDDLE), -FAR, 1.0 + FAR))

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
