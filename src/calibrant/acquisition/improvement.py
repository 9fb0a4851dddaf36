"""Log expected improvement (Ament et al. 2023) and log probability of improvement.

Where outcomes are noisy, the best value so far is uncertain. Then both are means over joint draws
of the values among which it is, each with its own best (noisy expected improvement, Letham et al.
2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from calibrant.acquisition.base import Belief, Criterion, DrawnBest, Pointwise, Rule
from calibrant.acquisition.residual_tables import Curves, curves
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class Improvement(Pointwise):
    """An acquisition that is the logarithm of an expectation over improvements on the best."""

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        if belief.drawn is None:
            return super().criterion(belief, rng, cube)
        return self._mean_over(belief.drawn, belief.residual)

    def _mean_over(self, drawn: DrawnBest, residual: Forecast) -> Criterion:
        """Return the logarithm of the mean over draws."""
        rule = self.rule(residual, 0.0)  # of means relative to the best of each draw
        best = drawn.best[:, None]

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            means, std, pullback = drawn.draws.posteriors(X)
            values, by_means, by_stds = rule(means - best, np.broadcast_to(std, means.shape))
            peak = values.max(axis=0)
            shares = np.exp(values - peak)
            sums = shares.sum(axis=0)
            shares /= sums
            return (
                peak + np.log(sums / best.size),
                lambda: pullback(shares * by_means, (shares * by_stds).sum(axis=0)),
            )

        return evaluate


@dataclass(frozen=True)
class ExpectedImprovement(Improvement):
    """Log expected improvement (log-EI, Ament et al. 2023): log E[(best − margin − Y)₊].

    For models with Gaussian forecasts, calibrated or not, it is finite and has a gradient far from
    any improvement, where EI itself underflows. For other models it may be −∞ there.

    Args:
        margin: how much better than the best an improvement must be, in the model's units.
    """

    margin: float = 0.0

    # A shift is a multiple of the std: it would make EI avoid the points that are most uncertain.
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
class ProbabilityOfImprovement(Improvement):
    """Log probability of improvement: log P(Y ≤ best − margin).

    Args:
        margin: how much better than the best an improvement must be, in the model's units. Without
            a margin the criterion stays near the best point, where tiny improvements are likely.
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
