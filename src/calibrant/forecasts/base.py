"""Forecasts: probability distributions of outcomes, vectorised over points.

A forecast is a monotone map between outcomes and normal scores: ``score(y) = Φ⁻¹(F(y))`` maps
outcomes to scores and ``at_score(z) = Q(Φ(z))`` maps them back. CDF and quantiles follow from
these. Scores do not saturate: an outcome 40 standard deviations away has another score than one 9
away, although both have the PIT 1.0 in double precision.

Shapes: a forecast has a ``batch`` shape, usually ``(n,)`` for n points, or ``()`` for one point.
Arguments broadcast against it as in NumPy, so ``f.cdf(y)`` pairs n outcomes with n points and
``f.quantile(p[:, None])`` gives every level at every point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.core import validate
from calibrant.core.typing import FloatArray


class Forecast(ABC):
    """A model's prediction of outcomes it has not seen: one distribution per point."""

    @property
    @abstractmethod
    def batch(self) -> tuple[int, ...]:
        """The shape of the array of points: ``(n,)``, or ``()`` for a single point."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Forecast:
        """Return the forecast of some of the points."""

    @abstractmethod
    def score(self, y: ArrayLike) -> FloatArray:
        """Return the normal score Φ⁻¹(F(y)) of outcomes, without saturation in the tails."""

    @abstractmethod
    def at_score(self, z: ArrayLike) -> FloatArray:
        """Return the outcome whose normal score is z: the inverse of :meth:`score`."""

    @abstractmethod
    def pdf(self, y: ArrayLike) -> FloatArray:
        """Return the density of the continuous part; point masses are left out."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """Return the expected outcome."""

    @abstractmethod
    def std(self) -> FloatArray:
        """Return the standard deviation."""

    @abstractmethod
    def crps(self, y: ArrayLike) -> FloatArray:
        """Return the continuous ranked probability score ∫ (F(x) − 1{x ≥ y})² dx."""

    @abstractmethod
    def shortfall(self, v: ArrayLike) -> FloatArray:
        """Return E[(v − Y)₊], the expected shortfall below v; its derivative is the CDF.

        With v the best value so far this is the expected improvement of a minimisation.
        """

    @abstractmethod
    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        """Return log E[(v − Y)₊], finite where the expectation itself underflows.

        Forecasts that compute expectations as sums over cells return −∞ below the lowest cell.
        """

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Return P(Y ≤ y)."""
        return np.asarray(ndtr(self.score(y)))

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the p-quantile, for p in [0, 1]."""
        return self.at_score(ndtri(validate.probabilities("p", p)))

    def interval(self, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the central interval that should hold ``coverage`` of outcomes."""
        tail = 0.5 - 0.5 * validate.coverage_level(coverage)
        meant = round(tail, 12)  # in floating point 0.5 − 0.5·0.8 is not quite 0.1
        tail = meant if abs(meant - tail) < 1e-15 else tail
        return self.quantile(tail), self.quantile(1.0 - tail)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``size`` independent outcomes per point: shape ``(size, *batch)``."""
        return self.at_score(rng.standard_normal((size, *self.batch)))
