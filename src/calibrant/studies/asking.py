"""Asking a trial for its parameters, as an objective is given them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

from calibrant.studies.domain import Domain
from calibrant.studies.structure import NOTHING, Structure


def setting_of(trial: Trial, domain: Domain) -> dict[str, Any]:
    """Return the parameters of a trial, or the row of the candidate that they are of."""
    params = suggest(trial, domain.distributions, domain.structure)
    listed = domain.candidates
    return params if listed is None else listed.row(listed.place(params))


def suggest(
    trial: Trial,
    distributions: Mapping[str, BaseDistribution],
    structure: Structure = NOTHING,
) -> dict[str, Any]:
    """Return the parameters of a trial, without those that do not exist in it."""
    params: dict[str, Any] = {}
    for name in structure.parents_first(list(distributions)):
        if not structure.exists(name, params):
            continue
        match dist := distributions[name]:
            case FloatDistribution():
                params[name] = trial.suggest_float(
                    name, dist.low, dist.high, step=dist.step, log=dist.log
                )
            case IntDistribution():
                params[name] = trial.suggest_int(
                    name, dist.low, dist.high, step=dist.step, log=dist.log
                )
            case CategoricalDistribution():
                params[name] = trial.suggest_categorical(name, dist.choices)
    return {name: params[name] for name in distributions if name in params}
