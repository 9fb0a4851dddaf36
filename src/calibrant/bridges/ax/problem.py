"""The search space and goals of an Ax experiment, in the terms of an Optuna study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np
from ax.core.experiment import Experiment
from ax.core.optimization_config import OptimizationConfig
from ax.core.parameter import (
    ChoiceParameter,
    DerivedParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.search_space import SearchSpace
from ax.core.types import ComparisonOp
from ax.exceptions.core import UnsupportedError
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from calibrant.studies.such_that import Constraint, Linear


@dataclass(frozen=True)
class Sum:
    """A weighted sum of metrics."""

    weights: tuple[tuple[str, float], ...]
    offset: float = 0.0
    maximize: bool = False

    def of(self, means: Mapping[str, float]) -> float:
        """Return its value, or NaN if a metric is missing."""
        return self.offset + sum(w * means.get(metric, np.nan) for metric, w in self.weights)


@dataclass(frozen=True)
class Problem:
    """The search space, goals and constraints of an experiment."""

    space: SearchSpace = field(compare=False)
    distributions: dict[str, BaseDistribution]
    fixed: dict[str, Any]
    goals: tuple[Sum, ...]
    constraints: dict[str, Sum]  # met where the sum is at most 0
    between: tuple[Constraint, ...] = ()  # parameters


def problem_of(experiment: Experiment) -> Problem:
    """Return the problem of an experiment, or raise if it has a part that is not supported."""
    space, config = experiment.search_space, experiment.optimization_config
    if config is None:
        raise UnsupportedError(
            "An objective is needed, but the experiment has none; call `configure_optimization`."
        )
    distributions = {
        name: _distribution(parameter)
        for name, parameter in space.parameters.items()
        if not isinstance(parameter, (FixedParameter, DerivedParameter))
    }
    fixed = {
        name: parameter.value
        for name, parameter in space.parameters.items()
        if isinstance(parameter, FixedParameter)
    }
    between = tuple(_between(one, distributions, fixed) for one in space.parameter_constraints)
    return Problem(space, distributions, fixed, _goals(config), _constraints(config), between)


def _between(
    constraint: ParameterConstraint,
    distributions: Mapping[str, BaseDistribution],
    fixed: Mapping[str, Any],
) -> Constraint:
    """Return a constraint between parameters, as Ax has it: a weighted sum with a bound."""
    weights = {str(name): float(w) for name, w in constraint.constraint_dict.items()}
    bound = float(constraint.bound) - sum(w * fixed[n] for n, w in weights.items() if n in fixed)
    searched = tuple((name, w) for name, w in weights.items() if name in distributions)
    if not searched:
        raise UnsupportedError(f"`{constraint}` is about no parameter that is searched.")
    words = " + ".join(f"{w:g} * {name}" for name, w in searched) + f" <= {bound:g}"

    def holds(setting: Mapping[str, Any]) -> bool:
        # One that does not exist in the arm, in a space with conditions, makes no difference.
        present = [(name, w) for name, w in searched if name in setting]
        return len(present) < len(searched) or sum(w * setting[n] for n, w in present) <= bound

    return Constraint(words, holds, (Linear(searched, bound),))


def _goals(config: OptimizationConfig) -> tuple[Sum, ...]:
    objective = config.objective
    weights = _weights(objective)
    several = objective.is_multi_objective
    if config.is_bope_problem or (several and objective.expression.count(",") + 1 != len(weights)):
        raise UnsupportedError(
            "Each of several objectives must be one metric, but got "
            f"`{objective.expression}`; report sums and preferences as metrics of their own."
        )
    return tuple(_goal(part) for part in ([(one,) for one in weights] if several else [weights]))


def _goal(weights: tuple[tuple[str, float], ...]) -> Sum:
    """Return the sum that Ax maximises; if no weight is positive, minus that sum, to minimise."""
    maximize = any(weight > 0.0 for _, weight in weights)
    sign = 1.0 if maximize else -1.0
    return Sum(tuple((metric, sign * weight) for metric, weight in weights), 0.0, maximize)


def _constraints(config: OptimizationConfig) -> dict[str, Sum]:
    sums = {}
    # An objective threshold counts as a constraint: a point that misses it is of no use.
    for constraint in config.all_constraints:
        if constraint.relative:
            raise UnsupportedError(
                "The bound of an outcome constraint must be a number, but got "
                f"`{constraint.expression}`; measure the baseline and give its value."
            )
        sign = 1.0 if constraint.op == ComparisonOp.LEQ else -1.0
        weights = tuple((metric, sign * weight) for metric, weight in _weights(constraint))
        sums[constraint.expression] = Sum(weights, -sign * constraint.bound)
    return sums


def _weights(expression: Any) -> tuple[tuple[str, float], ...]:
    """Return pairs of metric name, as it stands in the data, and weight."""
    weights = [weight for _, weight in expression.metric_weights]
    return tuple(zip(expression.metric_names, weights, strict=True))


def _distribution(parameter: Parameter) -> BaseDistribution:
    if parameter.is_fidelity or getattr(parameter, "is_task", False):
        kind = "fidelity" if parameter.is_fidelity else "task"
        raise UnsupportedError(
            f"Fidelity and task parameters are not supported, but `{parameter.name}` is a {kind} "
            "parameter; make it a fixed one."
        )
    match parameter:
        case RangeParameter() if parameter.logit_scale:
            raise UnsupportedError(
                f"The scale must be linear or logarithmic, but that of `{parameter.name}` is "
                "logit; search the logit itself and transform it in the trial."
            )
        case RangeParameter() if parameter.parameter_type == ParameterType.INT:
            low, high = int(parameter.lower), int(parameter.upper)
            return IntDistribution(low, high, log=parameter.log_scale)
        case RangeParameter():
            digits, log = parameter.digits, parameter.log_scale
            step = None if digits is None or log else 10.0**-digits
            return FloatDistribution(parameter.lower, parameter.upper, log=log, step=step)
        case ChoiceParameter() if _by_place(parameter):
            return IntDistribution(0, len(parameter.values) - 1)
        case ChoiceParameter():
            return CategoricalDistribution(parameter.values)
    raise UnsupportedError(
        "Parameters must be ranges, choices, fixed or derived, but "
        f"`{parameter.name}` is a {type(parameter).__name__}."
    )


def _by_place(parameter: Parameter) -> TypeGuard[ChoiceParameter]:
    """Whether a parameter is encoded by its index: an ordered choice of more than two values."""
    if not isinstance(parameter, ChoiceParameter):
        return False
    return bool(parameter.is_ordered) and len(parameter.values) > 2


def encoded(parameter: Parameter, value: Any) -> Any:
    """Return a value as the study stores it."""
    if _by_place(parameter):
        return parameter.values.index(value)
    value = parameter.cast(value)
    if isinstance(parameter, RangeParameter):  # Ax tolerates values just outside a range
        return min(max(value, parameter.lower), parameter.upper)
    return value


def decoded(parameter: Parameter, value: Any) -> Any:
    """Return a value of the study as Ax expects it."""
    return parameter.values[value] if _by_place(parameter) else parameter.cast(value)


def walk(space: SearchSpace, choose: Callable[[Parameter], Any]) -> dict[str, Any]:
    """Return the active parameters, each chosen after the one that it depends on."""
    params: dict[str, Any] = {}
    ahead = list(space.top_level_parameters.values())
    for parameter in ahead:
        if isinstance(parameter, DerivedParameter):
            continue
        value = parameter.value if isinstance(parameter, FixedParameter) else choose(parameter)
        params[parameter.name] = value
        if parameter.is_hierarchical:
            ahead += [space[name] for name in parameter.dependents.get(value, ())]
    for parameter in ahead:
        if isinstance(parameter, DerivedParameter):
            params[parameter.name] = parameter.compute(params)
    return params
