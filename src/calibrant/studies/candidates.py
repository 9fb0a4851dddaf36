"""Candidates from a list: a table of settings, each with a name, of which a search tries some.

Every column but the names is a parameter: numbers on a range, labels as choices. Text that differs
in every row, such as a formula, comes along but is not modelled, as it says nothing about others.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.core.typing import FloatArray
from calibrant.studies.coordinates import is_value
from calibrant.studies.space import Space
from calibrant.studies.space_text import describe, parse_space
from calibrant.studies.structure import NOTHING, Parameters, Structure

NAME = "name"  # the column of names, and what an objective finds them under
CANDIDATE = "candidate"  # user attribute of a trial: the name of its candidate


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of settings.

    Args:
        names: of the candidates, all different.
        columns: by name, a value for each candidate.
        distributions: of the columns that are parameters.
    """

    names: list[Any]
    columns: dict[str, list[Any]]
    distributions: dict[str, BaseDistribution]
    _places: dict[Any, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {key: i for i, key in enumerate(self._keys)})

    @property
    def structure(self) -> Structure:
        """What is known of the columns beyond their values."""
        known = self.distributions
        return known.structure if isinstance(known, Parameters) else NOTHING

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _keys(self) -> list[tuple[Any, ...]]:
        chosen = [self.columns[name] for name in self.distributions]
        return list(zip(*chosen, strict=True))

    def row(self, place: int) -> dict[str, Any]:
        """Return a candidate as an objective sees it: its columns, and its name."""
        return {NAME: self.names[place], **{c: v[place] for c, v in self.columns.items()}}

    def place(self, params: Mapping[str, Any]) -> int:
        """Return which candidate has some parameters.

        Raises:
            ValueError: if none has.
        """
        found = self._places.get(tuple(params.get(name) for name in self.distributions))
        if found is None:
            raise ValueError(f"{dict(params)} is none of the candidates.")
        return found

    def matching(self, fixed: Mapping[str, Any]) -> set[tuple[Any, ...]]:
        """Return the parameters of all candidates that have some given values."""
        columns = {name: place for place, name in enumerate(self.distributions)}
        return {
            key
            for key in self._keys
            if all(key[columns[name]] == value for name, value in fixed.items())
        }

    def only(self, places: Sequence[int]) -> Candidates:
        """Return some of the candidates, on the same ranges."""
        return Candidates(
            [self.names[i] for i in places],
            {name: [values[i] for i in places] for name, values in self.columns.items()},
            self.distributions,
        )

    def points(self, space: Space) -> FloatArray:
        """Return all candidates as points of a space's cube, (n, dim)."""
        columns = []
        for name, coordinate in space.coordinates.items():
            if name not in self.columns:
                raise ValueError(
                    f"With candidates all parameters are columns of their table, but the objective "
                    f"asked for `{name}`; the columns are {', '.join(self.columns)}."
                )
            internal = coordinate.distribution.to_internal_repr
            to_unit = coordinate.to_unit
            known: dict[Any, float] = {}  # columns repeat their values, and labels are looked up
            for value in self.columns[name]:
                if value not in known:
                    known[value] = to_unit(internal(value))
            columns.append([known[value] for value in self.columns[name]])
        return np.array(columns).T.reshape(len(self), space.cube.dim)


def as_candidates(
    table: Any, space: Mapping[str, Any] | None = None, names: str = NAME
) -> Candidates:
    """Return candidates given as a table.

    Args:
        table: a list of dicts, a dict of columns, a dict of dicts by name, or a data frame, whose
            index holds the names unless it is just numbered.
        space: ranges of columns where they are not from the smallest to the largest number, such as
            ``{"dose": "1e-3..1:log"}``.
        names: the column that holds names; without one, candidates are numbered from 0.

    Raises:
        ValueError: for an empty table, missing cells, names that occur twice, or a ``space`` that
            does not fit.
        TypeError: for what is no table.
    """
    if isinstance(table, Candidates):
        return table
    columns, index = _columns(table)
    found = columns.pop(names, index)
    count = len(next(iter(columns.values()), []))
    if not count:
        raise ValueError("The table of candidates is empty: at least one row and column is needed.")
    called = list(range(count)) if found is None else [_plain(name) for name in found]
    _check_names(called)
    for column, values in columns.items():
        columns[column] = [_cell(column, called[i], value) for i, value in enumerate(values)]
    distributions = _distributions(columns, space or {}, count)
    candidates = Candidates(called, columns, distributions)
    if len(candidates._places) == count:
        return candidates
    first: dict[Any, int] = {}
    for i, key in enumerate(candidates._keys):
        first.setdefault(key, i)
    again = next(i for i, key in enumerate(candidates._keys) if first[key] != i)
    warnings.warn(
        f"{count - len(first)} candidates agree with another in all that is modelled, such as "
        f"{called[again]!r} with {called[first[candidates._keys[again]]]!r}; only the first of "
        "each is suggested.",
        UserWarning,
        stacklevel=3,
    )
    return candidates.only(list(first.values()))


def _columns(table: Any) -> tuple[dict[str, list[Any]], list[Any] | None]:
    """Return the columns of a table, and the names of its rows if they stand beside it."""
    if hasattr(table, "columns") and hasattr(table, "index"):  # a data frame
        frame = {str(column): table[column].tolist() for column in table.columns}
        numbered = type(table.index).__name__ == "RangeIndex"
        return frame, None if numbered else table.index.tolist()
    if isinstance(table, Mapping) and table and all(isinstance(v, Mapping) for v in table.values()):
        return _of_rows(list(table.values())), list(table)
    if isinstance(table, Mapping):
        columns = {str(name): list(values) for name, values in table.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"All columns must have the same length, but they have {lengths}.")
        return columns, None
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        return _of_rows(table), None
    raise TypeError(
        "`candidates` must be a list of dicts, a dict of columns, or a data frame, but got "
        f"{type(table).__name__}."
    )


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    header = [str(name) for name in rows[0]] if rows else []
    for place, row in enumerate(rows):
        if set(map(str, row)) != set(header):
            raise ValueError(
                f"All candidates must have the same columns, {', '.join(header)}, but row {place} "
                f"has {', '.join(map(str, row))}."
            )
    return {name: [row[name] for row in rows] for name in header}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _check_names(names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if not isinstance(name, str | int | float) or name != name:
            raise ValueError(f"The name of a candidate must be text or a number, but got {name!r}.")
        if name in seen:
            raise ValueError(f"Names of candidates must differ, but {name!r} occurs twice.")
        seen.add(name)


def _cell(column: str, name: Any, value: Any) -> Any:
    value = _plain(value)
    missing = value is None or value == "" or value != value
    if missing or (isinstance(value, float) and not np.isfinite(value)):
        raise ValueError(
            f"Every cell of the candidates must have a finite value, but `{column}` of {name!r} is "
            f"{value!r}; leave out the row or the column, or fill it in."
        )
    if not isinstance(value, bool | int | float | str):
        raise TypeError(
            f"A cell must be a number, text, True or False, but `{column}` of {name!r} is "
            f"{value!r}."
        )
    return value


def _distributions(
    columns: Mapping[str, list[Any]], space: Mapping[str, Any], count: int
) -> dict[str, BaseDistribution]:
    unknown = sorted(space.keys() - columns.keys())
    if unknown:
        raise ValueError(
            f"`{unknown[0]}` is not a column of the candidates, which are {', '.join(columns)}."
        )
    given = parse_space(space) if space else {}
    every: dict[str, BaseDistribution] = {}
    for column, values in columns.items():
        if column in given:
            _check_inside(column, values, given[column])
            every[column] = given[column]
        elif all(isinstance(v, Integral) and not isinstance(v, bool) for v in values):
            every[column] = IntDistribution(min(values), max(values))
        elif all(isinstance(v, Real) and not isinstance(v, bool) for v in values):
            columns[column][:] = map(float, values)
            every[column] = FloatDistribution(min(values), max(values))
        else:
            every[column] = CategoricalDistribution(list(dict.fromkeys(values)))
    telling = {
        column: one
        for column, one in every.items()
        if not isinstance(one, CategoricalDistribution) or len(one.choices) < count or count == 1
    }
    known = given.structure if isinstance(given, Parameters) else NOTHING
    if known.conditions:
        raise ValueError(
            f"Candidates have all their columns, but `{next(iter(known.conditions))}` has a "
            "condition: leave that out."
        )
    return Parameters(telling or every, known)


def _check_inside(column: str, values: Sequence[Any], distribution: BaseDistribution) -> None:
    for value in values:
        if not is_value(distribution, value):
            raise ValueError(
                f"`{column}` must be {describe(distribution)}, but a candidate has {value!r}."
            )
