"""Expected improvement and probability of improvement, as logarithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from calibrant.acquisition.base import Pointwise, Rule
from calibrant.acquisition.residual_tables import Curves, curves
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


@dataclass(frozen=True)
class ExpectedImprovement(Pointwise):
    """log E[(best − margin − Y)₊]: finite and with a gradient far from any improvement.

    That is, of models with Gaussian forecasts, calibrated or not. Of others it may be −∞ there.

    Args:
        margin: how much better an improvement must be to count, in the model's units.
    """

    margin: float = 0.0

    # Where doubt is large a shift in stds is large: it would make improvement avoid doubt.
    takes_shift: ClassVar[bool] = False

    def rule(self, residual: Forecast, best: float) -> Rule:
        read, goal = curves(residual), best - self.margin

        def log_improvement(
            mean: FloatArray, std: FloatArray
        ) -> tuple[FloatArray, FloatArray, FloatArray]:
            v = (goal - mean) / std
            value, slope = read.log_shortfall(v)
            return np.log(std) + value, -slope / std, (1.0 - v * slope) / std

        return log_improvement

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return forecast.log_shortfall(best - self.margin)


@dataclass(frozen=True)
class ProbabilityOfImprovement(Pointwise):
    """log P(Y ≤ best − margin).

    Args:
        margin: how much better an improvement must be, in the model's units. Without one the
            criterion would stay at the best point, where an improvement by nothing is likely.
    """

    margin: float = 0.01

    def rule(self, residual: Forecast, best: float) -> Rule:
        return log_probability(curves(residual), best - self.margin)

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return np.asarray(log_ndtr(forecast.score(best - self.margin)))


def log_probability(read: Curves, threshold: float) -> Rule:
    """Return the rule log P(Y ≤ threshold)."""

    def rule(mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = (threshold - mean) / std
        value, slope = read.log_cdf(v)
        return value, -slope / std, -slope * v / std

    return rule
