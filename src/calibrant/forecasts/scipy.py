"""Continuous distributions of ``scipy.stats`` as forecasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from calibrant.core import validate
from calibrant.core.normal import EDGE_SCORE, LARGEST_SCORE, SCORE_LIMIT, density, score_from_logs
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class ScipyForecast(Forecast):
    """A forecast from any frozen continuous distribution of ``scipy.stats``.

    >>> from scipy import stats
    >>> from calibrant import ScipyForecast
    >>> low, high = ScipyForecast(stats.t(df=5, loc=[0.0, 1.0])).interval(0.8)
    >>> high.round(2).tolist()
    [1.48, 2.48]

    Args:
        distribution: such as ``stats.t(df=5, loc=means, scale=stds)``; arrays are the points.
    """

    def __init__(self, distribution: Any) -> None:
        from scipy.stats import (
            rv_continuous,
        )  # slow to import; a caller with a distribution has loaded it already

        if not isinstance(getattr(distribution, "dist", None), rv_continuous):
            raise TypeError(
                "`distribution` must be a frozen continuous scipy.stats distribution, such as "
                f"scipy.stats.t(df=5, loc=mean, scale=std), but got {distribution!r}."
            )
        self._distribution = distribution
        arguments = (*distribution.args, *distribution.kwds.values())
        self._batch = np.broadcast_shapes(*(np.shape(a) for a in arguments))
        self._median = distribution.ppf(0.5)
        if not np.all(np.isfinite(self._median)):
            raise ValueError("`distribution` has invalid parameters: its median is not a number.")

    def __repr__(self) -> str:
        return f"ScipyForecast({self._distribution.dist.name}, batch={self._batch})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self._batch

    def __getitem__(self, index: Any) -> ScipyForecast:
        frozen = self._distribution

        def pick(argument: ArrayLike) -> FloatArray:
            return np.asarray(
                np.broadcast_to(np.asarray(argument, dtype=float), self._batch)[index]
            )

        keywords = {key: pick(value) for key, value in frozen.kwds.items()}
        return ScipyForecast(frozen.dist(*(pick(a) for a in frozen.args), **keywords))

    def score(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        with np.errstate(all="ignore"):  # some distributions overflow or divide by 0 in the tails
            score = score_from_logs(self._distribution.logcdf(y), self._distribution.logsf(y))
        score = np.clip(score, -SCORE_LIMIT, SCORE_LIMIT)
        # Where a tail formula fails, use the largest score that a probability can express.
        score = np.where(np.isnan(score), np.copysign(LARGEST_SCORE, y - self._median), score)
        start, end = self._distribution.support()
        score = np.where(y <= start, -SCORE_LIMIT, np.where(y >= end, SCORE_LIMIT, score))
        return np.where(np.isinf(y), y, score)

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        with np.errstate(all="ignore"):
            below = self._distribution.ppf(ndtr(np.minimum(z, 0.0)))
            above = self._distribution.isf(ndtr(-np.maximum(z, 0.0)))
        return np.asarray(np.where(z < 0.0, below, above))

    def pdf(self, y: ArrayLike) -> FloatArray:
        return np.asarray(self._distribution.pdf(y))

    def mean(self) -> FloatArray:
        return np.asarray(np.broadcast_to(self._distribution.mean(), self._batch))

    def std(self) -> FloatArray:
        return np.asarray(np.broadcast_to(self._distribution.std(), self._batch))

    def crps(self, y: ArrayLike) -> FloatArray:
        # The pinball loss integrated over levels, split at the level of the outcome.
        y = validate.finite("y", y)
        split = np.clip(self.score(y), -EDGE_SCORE, EDGE_SCORE)
        below = self._integrate(-EDGE_SCORE, split, lambda q, z: 2.0 * ndtr(z) * (y - q))
        above = self._integrate(split, EDGE_SCORE, lambda q, z: 2.0 * ndtr(-z) * (q - y))
        return below + above

    def shortfall(self, v: ArrayLike) -> FloatArray:
        v = validate.as_floats("v", v)
        split = np.clip(self.score(v), -27.0, EDGE_SCORE)
        start = np.minimum(-EDGE_SCORE, split - 10.0)  # what lies lower is 1e-20 of the total
        return self._integrate(start, split, lambda q, z: np.maximum(v - q, 0.0))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.shortfall(v))

    def _integrate(
        self,
        start: ArrayLike,
        end: ArrayLike,
        integrand: Callable[[FloatArray, FloatArray], FloatArray],
    ) -> FloatArray:
        """Return ∫ integrand(quantile, z)·φ(z) dz over scores from ``start`` to ``end``.

        Scores beyond ±8.2 have a probability of 1e-16 and can be left out.
        """
        start, end = np.broadcast_arrays(np.asarray(start, float), np.asarray(end, float))
        nodes, node_weights = np.polynomial.legendre.leggauss(100)  # the integrand is smooth
        column = (-1,) + (1,) * start.ndim
        half = 0.5 * (end - start)
        z = start + half * (nodes.reshape(column) + 1.0)
        weights = node_weights.reshape(column) * half * density(z)
        return np.asarray((weights * integrand(self.at_score(z), z)).sum(axis=0))
