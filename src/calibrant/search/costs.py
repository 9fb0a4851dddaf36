"""What evaluations cost, as a model of their prices, and how a search weighs that.

The model is a Gaussian process of the logarithm: prices are positive, differ by factors, and those
of parameters multiply. A point is worth its expected improvement per expected price. To let the
weight of prices fall as the budget is spent (cost-cooling, Lee et al. 2020) guards against staying
where things are cheap and nothing is to be found; in searches of ours it did no better, also where
the dear side holds the minimum (benchmarks/problems).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.acquisition.base import Criterion
from calibrant.core.cube import Cube
from calibrant.core.threads import one_thread
from calibrant.core.typing import FloatArray
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import Additive
from calibrant.models.likelihood import Priors

ENOUGH = 3  # prices known: fewer tell nothing about where it is cheap
OVERSHOOT = 0.1  # of what is left: as much more may an evaluation be expected to cost

# Machines are busy, and prices vary: a third of their spread may be noise.
_PROCESS = GaussianProcess(Additive(), "standardise", Priors(noise=(1e-2, 2.0)), most_outcomes=500)
_FREE = 1e-3  # of the middle price: what costs less, or nothing, counts as this
_WALL = 1e3  # times the logarithm of what is missing: outweighs any improvement


@dataclass(frozen=True)
class Prices:
    """What evaluations are expected to cost, at any point."""

    fitted: FittedGP

    @classmethod
    @one_thread()
    def learned(
        cls, X: FloatArray, prices: FloatArray, cube: Cube, last: Prices | None = None
    ) -> Prices:
        """Return the model of some prices, continuing from the last one.

        Args:
            X: where they are known, (n, d).
            prices: there, none negative, (n,).
            cube: of the points.
            last: the model before the latest of them were known.
        """
        X, prices = X[-_PROCESS.most_outcomes :], prices[-_PROCESS.most_outcomes :]
        some = prices[prices > 0.0]
        least = _FREE * (np.median(some) if some.size else 1.0)
        logs = np.log(np.maximum(prices, least))
        if last is not None and last.fitted.X.shape[1] == X.shape[1]:
            return cls(last.fitted.refit(X, logs))
        return cls(_PROCESS.with_labels(cube.categorical).fit(X, logs))

    def expected(self, X: FloatArray) -> FloatArray:
        """Return the middle of what an evaluation at each point may cost."""
        return np.exp(self._logs(self.fitted.posterior(X).mean))

    def frugality(self, weight: float, left: float) -> Criterion:
        """Return −weight · log price, and a wall where more is expected than is left.

        Args:
            weight: of prices, from 0 to 1.
            left: of the budget.
        """
        most = np.log(max((1.0 + OVERSHOOT) * left, 1e-300))

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = self.fitted.posterior(X)
            logs = self._logs(mean)
            over = np.maximum(logs - most, 0.0)
            slope = -(weight + _WALL * (over > 0.0)) / self.fitted.outputs.slope(logs)
            return -weight * logs - _WALL * over, lambda: pullback(slope, np.zeros_like(std))

        return evaluate

    def _logs(self, means: FloatArray) -> FloatArray:
        return np.asarray(self.fitted.outputs.inverse(means))
