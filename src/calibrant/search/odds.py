"""The odds of a point: that it meets all constraints, and that its evaluation finishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from calibrant.acquisition.base import Belief, Criterion
from calibrant.acquisition.improvement import ProbabilityOfImprovement
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import Matern52
from calibrant.models.likelihood import Priors, enough
from calibrant.models.protocol import FittedModel, GaussianBelief
from calibrant.search.history import History
from calibrant.search.pending import kriging_believer
from calibrant.search.training import TrainingData

_FEASIBILITY = ProbabilityOfImprovement(margin=0.0)  # a constraint is met where it falls below 0

# Whether evaluations finish is modelled as a constraint: −1 where one did, 1 where it failed. With
# noise, as some failures are nobody's fault: else one beside the minimum would be a wall around it.
_FINISHING = GaussianProcess(Matern52(), "standardise", Priors(noise=(0.1, 2.0)))
_SAFE = -0.7  # what is labelled lower: where 85 % of evaluations finish


def finishing(succeeded: History, cube: Cube) -> FittedGP:
    """Return a model of where evaluations finish, of points labelled −1 and 1."""
    # So many of each are enough whatever the dimension; how many of them tell the hyper-parameters
    # in many dimensions is for the fit to say.
    finished, failed = (X[enough(len(X))] for X in (succeeded.X, succeeded.failed))
    labels = np.repeat([-1.0, 1.0], [len(finished), len(failed)])
    process = _FINISHING.with_labels(cube.categorical)
    return process.fit(np.concatenate([finished, failed]), labels)


def odds_of_finishing(history: History, cube: Cube, X: FloatArray) -> FloatArray:
    """Return the odds that evaluations finish at the rows of X, as a search weighs them."""
    if not history.failed.size:
        return np.ones(len(X))
    fitted = finishing(history, cube)
    mean, std, _ = fitted.posterior(X)
    return np.asarray(ndtr((_in_units(fitted, _SAFE) - mean) / std))


def log_odds(
    data: TrainingData,
    constraints: Sequence[FittedModel],
    residuals: Sequence[Forecast],
    finishes: FittedModel | None,
    cube: Cube,
    rng: np.random.Generator,
) -> list[Criterion]:
    """Return the log-probabilities that each constraint is met, and that an evaluation finishes."""
    # The reports of what was pruned say nothing about constraints.
    no_reports = replace(
        data.subset, pruned=data.subset.pruned[:0], extrapolated=data.subset.extrapolated[:0]
    )
    limits = [
        (kriging_believer(data.limit_model, fitted, no_reports, X, y).fitted, residual, 0.0)
        for fitted, (X, y), residual in zip(constraints, data.constraints, residuals, strict=True)
    ]
    if finishes is not None:
        limits.append((finishes, STANDARD_NORMAL, _SAFE))
    return [
        _FEASIBILITY.criterion(Belief(fitted, residual, _in_units(fitted, most)), rng, cube)
        for fitted, residual, most in limits
    ]


def _in_units(fitted: FittedModel, y: float) -> float:
    return float(fitted.in_model_units(y)) if isinstance(fitted, GaussianBelief) else y
