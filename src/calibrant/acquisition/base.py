"""Acquisition functions: how much a point is worth evaluating under a calibrated belief.

Each turns a :class:`Belief` (a fitted model and the residual that recalibrates it) into a
*criterion*, a function of points to be maximised. With Gaussian models it works in the model's own
units and has gradients; with any other model it uses the recalibrated forecasts and has none.

In a model's own units g(y), expected improvement weighs improvements by g′. That is intended: it
makes the criterion invariant to a rescaling of the outcomes. Quantile bounds, probabilities and
draws are the same in both units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.residual import compose
from calibrant.models.draws import Draws
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.protocol import FittedModel, GaussianBelief
from calibrant.models.rotation import as_process

# points (m, d) -> values (m,), and a function that returns their gradients (m, d) or None
Criterion = Callable[[FloatArray], tuple[FloatArray, Callable[[], FloatArray] | None]]

# (mean, std) -> value and its derivatives with respect to mean and std, each (m,)
Rule = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


class DrawnBest(NamedTuple):
    """Draws of the function where its lowest value may be, and the value to beat in each."""

    draws: Draws
    best: FloatArray  # (k,), in the model's units


@dataclass(frozen=True)
class Belief:
    """A calibrated belief about one outcome: a model, its residual, and the value to beat."""

    fitted: FittedModel
    residual: Forecast
    best: float  # in the model's own units if it has them, otherwise in units of outcomes
    outcomes: int = 0  # how many the model was fitted to
    drawn: DrawnBest | None = None  # what to beat instead, where it is uncertain


class Acquisition(ABC):
    """An acquisition function: a way to value points."""

    # Whether its residual may learn a shift: outcomes that lie some stds above their forecasts on
    # average. If not, the default calibration set is symmetric and teaches spread and tails only.
    takes_shift: ClassVar[bool] = True

    @abstractmethod
    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        """Return the function of points on the cube that is to be maximised."""


class Pointwise(Acquisition):
    """An acquisition that values each point by the forecast at that point alone."""

    @abstractmethod
    def rule(self, residual: Forecast, best: float) -> Rule:
        """Return the value of location-scale forecasts mean + std·residual, with derivatives."""

    @abstractmethod
    def value(self, forecast: Forecast, best: float) -> FloatArray:
        """Return the value of any calibrated forecasts."""

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted = belief.fitted
        if not isinstance(fitted, GaussianBelief):
            return lambda X: (
                self.value(compose(fitted.predict(X), belief.residual), belief.best),
                None,
            )
        rule = self.rule(belief.residual, belief.best)

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = fitted.posterior(X)
            value, by_mean, by_std = rule(mean, std)
            return value, lambda: pullback(by_mean, by_std)

        return evaluate


def process_of(belief: Belief, acquisition: Acquisition) -> FittedGP:
    """Return the Gaussian process of a belief, or raise if its model is not one."""
    process = as_process(belief.fitted)
    if process is not None:
        return process
    raise TypeError(
        f"`{type(acquisition).__name__}` needs a fitted GaussianProcess, but got "
        f"{type(belief.fitted).__name__}; choose that model, or QuantileBound, which takes any."
    )


def total(criteria: Sequence[Criterion]) -> Criterion:
    """Return the sum of criteria that are logarithms of independent factors."""

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
        values, gradients = zip(*(criterion(X) for criterion in criteria), strict=True)
        known = [gradient for gradient in gradients if gradient is not None]
        if len(known) < len(gradients):
            return np.sum(values, axis=0), None
        return np.sum(values, axis=0), lambda: np.sum([gradient() for gradient in known], axis=0)

    return criteria[0] if len(criteria) == 1 else evaluate
