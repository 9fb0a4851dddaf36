"""Generators as Xopt, Optimas and libEnsemble take them: ``suggest`` and ``ingest``.

Needs gest-api. The generator keeps an Optuna study, in which every point has its forecast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gest_api import Generator
from gest_api.vocs import (
    VOCS,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    ExploreObjective,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
)
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from calibrant.core import validate
from calibrant.studies import optuna_private
from calibrant.studies.coordinates import is_value
from calibrant.studies.job import record_run, same_job
from calibrant.studies.opening import open_study
from calibrant.studies.runner import ERROR_KEY, quiet_optuna

ID = "_id"  # gest-api's key of a point's identifier: here the number of its trial


class CalibratedGenerator(Generator):
    """A generator whose points are chosen by :class:`~calibrant.CalibratedSampler`.

    >>> from gest_api.vocs import VOCS
    >>> from calibrant.bridges.gest import CalibratedGenerator
    >>> vocs = VOCS(variables={"x": [0.0, 1.0]}, objectives={"f": "MINIMIZE"})
    >>> generator = CalibratedGenerator(vocs, seed=0)
    >>> for _ in range(12):
    ...     (point,) = generator.suggest(1)
    ...     generator.ingest([{**point, "f": (point["x"] - 0.3) ** 2}])
    >>> abs(generator.study.best_params["x"] - 0.3) < 0.05
    True

    Continuous and discrete variables (a ``dtype`` of int makes a range of integers), one or several
    objectives, constraints of all kinds, constants, and points that came from elsewhere. Contextual
    variables, arrays and the objective EXPLORE are refused.

    Args:
        vocs: the problem.
        storage: the URL of a storage, with which a search can be resumed.
        study_name: the name of the study in the storage.
        seed: of all random choices.
        sampler: to use instead of the default one.
    """

    returns_id = True

    def __init__(
        self,
        vocs: VOCS,
        *,
        storage: str | None = None,
        study_name: str = "calibrant",
        seed: int | None = None,
        sampler: BaseSampler | None = None,
    ) -> None:
        super().__init__(vocs)
        self._vocs, self._space = vocs, _space(vocs)
        directions = [
            "maximize" if isinstance(goal, MaximizeObjective) else "minimize"
            for goal in vocs.objectives.values()
        ]
        self._study = open_study(self._space, storage, study_name, directions, sampler, seed)
        same_job(self._study, parameters=sorted(self._space))
        record_run(self._study, seed=seed)

    @property
    def study(self) -> Study:
        """The Optuna study: ``calibrant.review(generator.study)`` says how forecasts held."""
        return self._study

    def _validate_vocs(self, vocs: VOCS) -> None:
        if not vocs.objectives:
            raise ValueError("CalibratedGenerator needs an objective, but the VOCS has none.")
        for name, goal in vocs.objectives.items():
            if isinstance(goal, ExploreObjective):
                raise ValueError(
                    f"An objective is minimised or maximised, but `{name}` is EXPLORE."
                )
        _space(vocs)

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate, each with its ``_id``; by default one."""
        wanted = 1 if num_points is None else validate.at_least("num_points", num_points, 1)
        constants = {name: constant.value for name, constant in self._vocs.constants.items()}
        points = []
        with quiet_optuna(), optuna_private.stoppable(self._study):
            for _ in range(wanted):
                trial = self._study.ask(self._space)
                points.append({**trial.params, **constants, ID: trial.number})
        return points

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Take the results of points, with their ``_id`` where they were suggested here.

        An objective or a constraint that is NaN, infinite or None makes a failed trial.

        Raises:
            ValueError: for an unknown ``_id``, a missing field, or a point outside the variables;
                then none of the results is taken.
        """
        for outcome in [self._outcome(result) for result in results]:
            self._take(outcome)

    def _outcome(self, result: Mapping[str, Any]) -> _Outcome:
        """Return a result as a trial keeps it, or raise if it is none."""
        vocs = self._vocs
        names = [*self._space, *vocs.objectives, *vocs.constraints]
        if missing := [name for name in names if name not in result]:
            raise ValueError(
                f"A result must have {', '.join(names)}, but lacks {missing} in {result}."
            )
        params = {name: _plain(result[name]) for name in self._space}
        for name, distribution in self._space.items():
            if not is_value(distribution, params[name]):
                raise ValueError(f"`{name}={params[name]!r}` of {result} is not in {distribution}.")
        values = [_number(result[name]) for name in vocs.objectives]
        constraints: dict[str, float] = {}
        for name, constraint in vocs.constraints.items():
            constraints |= _broken_by(name, constraint, _number(result[name]))
        return _Outcome(self._number(result, params), params, values, constraints)

    def _number(self, result: Mapping[str, Any], params: Mapping[str, Any]) -> int | None:
        """Return the trial of a result; None for a point that was not suggested here."""
        running = {
            trial.number: trial.params
            for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        }
        if ID not in result or result[ID] is None:
            return next((number for number, theirs in running.items() if theirs == params), None)
        if result[ID] not in running:
            raise ValueError(
                f"`{ID}` must be of a point that was suggested and has no result yet, but got "
                f"{result[ID]!r}; leave it out for points from elsewhere."
            )
        return int(result[ID])

    def _take(self, outcome: _Outcome) -> None:
        number, study = outcome.number, self._study
        if number is None:
            study.add_trial(
                create_trial(
                    params=outcome.params,
                    distributions=self._space,
                    state=TrialState.COMPLETE if outcome.usable else TrialState.FAIL,
                    values=outcome.values if outcome.usable else None,
                    constraints=outcome.constraints if outcome.usable else None,
                )
            )
        elif outcome.usable:
            if outcome.constraints:
                optuna_private.set_constraints(study, number, outcome.constraints)
            study.tell(number, outcome.values)
        else:
            reason = f"the result was {outcome.values}, {outcome.constraints}"
            optuna_private.set_user_attribute(study, number, ERROR_KEY, reason)
            study.tell(number, state=TrialState.FAIL)


@dataclass(frozen=True)
class _Outcome:
    number: int | None  # of the trial; None for a point from elsewhere
    params: dict[str, Any]
    values: list[float]
    constraints: dict[str, float]  # met at 0 or below

    @property
    def usable(self) -> bool:
        return all(map(math.isfinite, [*self.values, *self.constraints.values()]))


def _space(vocs: VOCS) -> dict[str, BaseDistribution]:
    """Return the variables of a problem as distributions."""
    return {str(name): _distribution(name, one) for name, one in vocs.variables.items()}


def _distribution(name: str, variable: Any) -> BaseDistribution:
    kind = np.dtype(variable.dtype or float)
    if kind.shape:
        raise ValueError(f"A variable is a single value, but `{name}` has the dtype {kind}.")
    if isinstance(variable, ContextualVariable):
        raise ValueError(f"All variables are chosen here, but `{name}` is contextual.")
    if isinstance(variable, DiscreteVariable):
        return CategoricalDistribution(_in_order(variable.values))
    if isinstance(variable, ContinuousVariable):
        low, high = variable.domain
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"A domain must be finite, but that of `{name}` is {low} to {high}.")
        if kind.kind in "iu":
            return IntDistribution(math.ceil(low), math.floor(high))
        return FloatDistribution(low, high)
    raise ValueError(f"`{name}` must be continuous or discrete, but is {variable!r}.")


def _in_order(values: Any) -> list[Any]:
    """Return a set's values in an order that does not change: numbers by size, which is a scale."""
    plain = [_plain(value) for value in values]
    try:
        return sorted(plain)
    except TypeError:
        return sorted(plain, key=repr)


def _broken_by(name: str, constraint: Any, value: float) -> dict[str, float]:
    """Return by how much a constraint is broken; met at 0 or below."""
    match constraint:
        case LessThanConstraint():
            return {name: value - constraint.value}
        case GreaterThanConstraint():
            return {name: constraint.value - value}
        case BoundsConstraint():
            low, high = constraint.range
            return {f"{name} at least": low - value, f"{name} at most": value - high}
    raise ValueError(f"`{name}` is of a kind of constraint that is not known: {constraint!r}.")


def _plain(value: Any) -> Any:
    """Return a value, such as NumPy's, as Python's own."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and value.ndim == 0 else value


def _number(value: Any) -> float:
    """Return a result as a number; NaN for None."""
    return math.nan if value is None else float(value)
