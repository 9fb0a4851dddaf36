"""What of a search space may be tried: candidates, constraints between parameters, given values.

All three end up in one cube: that of the space, limited to a list or to a rule, of which given
coordinates have a single value (:mod:`calibrant.core.cube`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from calibrant.core.cube import Cube, keys
from calibrant.core.planes import Planes, Scale
from calibrant.core.rule import NothingToTry, Rule, first_point
from calibrant.core.typing import FloatArray
from calibrant.studies.candidates import Candidates, as_candidates
from calibrant.studies.conditions import declared_conditions
from calibrant.studies.coordinates import Coordinate, Internal, is_value, only_value, searchable
from calibrant.studies.space import Space
from calibrant.studies.space_text import describe, parse_space
from calibrant.studies.structure import NOTHING, Structure
from calibrant.studies.such_that import Constraint, Linear, parse_constraints


@dataclass
class Domain:
    """What of a search space may be tried.

    Args:
        constraints: that every setting keeps to.
        candidates: the only settings there are, if they are a list.
        fixed: parameters that are given rather than chosen.
        distributions: all parameters that are known beforehand, those with a single value included.
        structure: what is known of them beyond their values.
    """

    constraints: tuple[Constraint, ...] = ()
    candidates: Candidates | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    distributions: Mapping[str, BaseDistribution] = field(default_factory=dict)
    structure: Structure = NOTHING
    _last: tuple[Any, Cube] | None = field(default=None, init=False, repr=False, compare=False)
    _rows: tuple[Any, dict[bytes, int]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None, "_rows": None}  # they hold functions

    @property
    def is_whole(self) -> bool:
        """Whether all of the space may be tried."""
        return not (self.constraints or self.candidates or self.fixed)

    def cube(self, space: Space, given: Internal) -> Cube:
        """Return what of a space may be tried where some internal values are given.

        Raises:
            NothingToTry: where no candidate has these values; of constraints it is found out when
                points are asked for.
        """
        known = space.distributions, dict(given), space.cube.absent is None
        if self._last is not None and self._last[0] == known and known[2]:
            return self._last[1]  # with what it has gone through
        cube = space.cube
        if self.candidates is not None:
            cube = replace(cube, listed=self.candidates.points(space))
        if given:
            columns = {name: column for column, name in enumerate(space.coordinates)}
            row = space.row(given)
            try:
                cube = cube.fixed({columns[name]: float(row[columns[name]]) for name in given})
            except NothingToTry:
                words = _listing(space.external(given))
                raise NothingToTry(f"None of the candidates has {words}.") from None
        if self.constraints and self.candidates is None:
            cube = replace(cube, rule=self._rule(space, given))
        self._last = known, cube
        return cube

    def internal(self, space: Space, x: FloatArray) -> dict[str, float]:
        """Return the internal values of a point; of a candidate, just those of its row."""
        if (place := self._place(space, x)) is None:
            return space.internal(x)
        assert self.candidates is not None
        row = self.candidates.row(place)
        return {
            name: coordinate.distribution.to_internal_repr(row[name])
            for name, coordinate in space.coordinates.items()
        }

    def name(self, space: Space, x: FloatArray) -> Any:
        """Return the name of a candidate; None of any other point."""
        place = self._place(space, x)
        return None if place is None or self.candidates is None else self.candidates.names[place]

    def settled(self, space: Space, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with a single value that exist beside the others of a setting."""
        values = self._values_of_others(space)
        every = {**values, **setting}
        return {name: v for name, v in values.items() if self.structure.exists(name, every)}

    def _values_of_others(self, space: Space) -> dict[str, Any]:
        """Return the parameters that a space leaves out, as they have a single value."""
        others = self.distributions.items()
        return {name: only_value(one) for name, one in others if name not in space.coordinates}

    def _place(self, space: Space, x: FloatArray) -> int | None:
        if self.candidates is None:
            return None
        if self._rows is None or self._rows[0] != space.distributions:
            rows = {key: i for i, key in enumerate(keys(self.candidates.points(space)))}
            self._rows = space.distributions, rows
        return self._rows[1].get(keys(x[None])[0])

    def _rule(self, space: Space, given: Internal) -> Rule:
        settled = self._values_of_others(space)
        said = [f"`{constraint.words}`" for constraint in self.constraints]
        words = " and ".join(said) + (f" with {_listing(space.external(given))}" if given else "")

        def holds(X: FloatArray) -> NDArray[np.bool_]:
            return np.array([self._keeps(space, settled, given, x) for x in X], dtype=bool)

        linear = [one for constraint in self.constraints for one in constraint.linear]
        everything = all(constraint.linear for constraint in self.constraints)
        known = {**settled, **space.external(given)}
        return Rule(holds, words, _planes(linear, space, known), everything)

    def _keeps(
        self, space: Space, settled: Mapping[str, Any], given: Internal, x: FloatArray
    ) -> bool:
        values = {**space.internal(x), **given}
        setting = self.structure.decoded({**settled, **space.external(space.existing(values))})
        return all(constraint.holds(setting) for constraint in self.constraints)


def domain_of(
    space: Mapping[str, Any] | None = None,
    such_that: Any = None,
    candidates: Any = None,
    fixed: Mapping[str, Any] | None = None,
) -> Domain:
    """Return what may be tried of a space, and check that it is something.

    Args:
        space: the parameters, as :func:`~calibrant.minimize` takes them; with candidates, ranges of
            some of their columns.
        such_that: constraints, see :func:`~calibrant.studies.such_that.parse_constraints`.
        candidates: a table, see :func:`~calibrant.studies.candidates.as_candidates`.
        fixed: parameters that are given rather than chosen.

    Raises:
        ValueError: for names that do not exist, values outside their range, and where nothing is
            left to try.
    """
    listed = None if candidates is None else as_candidates(candidates, space)
    structure = NOTHING
    if listed is not None:
        distributions = listed.distributions
        structure = listed.structure
    elif space:
        distributions = parameters = parse_space(space)
        structure = parameters.structure
    elif such_that or fixed:
        raise ValueError(
            "Constraints and given values are about parameters: say which there are "
            "(`search_space`)."
        )
    else:
        return Domain()
    others = [] if listed is None else [*listed.columns, "name"]
    constraints = parse_constraints(such_that, distributions, others)
    given = _checked(fixed or {}, distributions)
    if listed is not None and constraints:
        rows = map(listed.row, range(len(listed)))
        kept = [i for i, row in enumerate(rows) if all(c.holds(row) for c in constraints)]
        if not kept:
            words = " and ".join(f"`{constraint.words}`" for constraint in constraints)
            raise NothingToTry(f"None of the {len(listed)} candidates keeps to {words}.")
        listed = listed.only(kept)
    domain = Domain(constraints, listed, given, distributions, structure)
    _check(domain)
    return domain


def _check(domain: Domain) -> None:
    """Raise if nothing may be tried."""
    if not (domain.constraints or domain.fixed) or not searchable(domain.distributions):
        return
    declared = declared_conditions(domain.structure, domain.distributions)
    space = Space(domain.distributions, declared, structure=domain.structure)
    cube = domain.cube(space, space.to_internal(domain.fixed))
    if cube.rule is None:
        return
    if cube.countable:
        cube.every_point()
    else:
        first_point(cube)


def _checked(
    fixed: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any]:
    """Return given values, each of which must be one of its parameter's."""
    if not isinstance(fixed, Mapping):
        raise TypeError(f'`fixed` must be a dict such as {{"batch": "A"}}, but got {fixed!r}.')
    for name, value in fixed.items():
        if name not in distributions:
            raise ValueError(
                f"`{name}` is fixed, but the parameters are {', '.join(sorted(distributions))}."
            )
        if not is_value(distributions[name], value):
            raise ValueError(
                f"`{name}` must be {describe(distributions[name])}, but is fixed to {value!r}."
            )
    return dict(fixed)


def _planes(linear: list[Linear], space: Space, known: Mapping[str, Any]) -> Planes | None:
    """Return linear constraints between coordinates; what is known counts as a number."""
    columns = {name: column for column, name in enumerate(space.coordinates) if name not in known}
    about = sorted({n for one in linear for n, _ in one.weights if n in columns}, key=columns.get)  # type: ignore[arg-type]
    about = [name for name in about if name not in space.conditions]  # those may not exist
    rows, bounds, equal = [], [], []
    for one in linear:
        weights = dict(one.weights)
        if not weights.keys() & set(about) or not weights.keys() <= {*about, *known}:
            continue
        rows.append([weights.get(name, 0.0) for name in about])
        bounds.append(one.bound - sum(w * known[n] for n, w in weights.items() if n in known))
        equal.append(one.equal)
    if not rows:
        return None
    scales = {columns[name]: _scale(space.coordinates[name]) for name in about}
    return Planes(scales, np.array(rows), np.array(bounds), np.array(equal))


def _scale(coordinate: Coordinate) -> Scale:
    distribution = coordinate.distribution
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    return Scale(
        float(distribution.low),
        float(distribution.high),
        float(distribution.step or 0.0),
        distribution.log,
        coordinate.to_unit,
        coordinate.from_unit,
    )


def _listing(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())
