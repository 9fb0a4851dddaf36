"""Expectations of forecasts without a closed form, as sums over cells of outcomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.normal import EDGE_SCORE
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL

EVEN_SCORES = np.linspace(-EDGE_SCORE, EDGE_SCORE, 1793)  # about 0.01 apart: errors of about 1e-5


class NumericForecast(Forecast):
    """A forecast defined by its scores and quantiles; expectations are sums over its cells."""

    def mean(self) -> FloatArray:
        return self._moments()[0]

    def std(self) -> FloatArray:
        return self._moments()[1]

    def crps(self, y: ArrayLike) -> FloatArray:
        y = validate.finite("y", y)
        edges, cdf = self._cells(y.ndim)
        below = np.clip(y - edges[:-1], 0.0, np.diff(edges, axis=0))
        above = np.clip(edges[1:] - y, 0.0, np.diff(edges, axis=0))
        inside = (cdf**2 * below + (1.0 - cdf) ** 2 * above).sum(axis=0)
        return np.asarray(inside + np.maximum(edges[0] - y, 0.0) + np.maximum(y - edges[-1], 0.0))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        v = validate.as_floats("v", v)
        edges, cdf = self._cells(v.ndim)
        below = np.clip(v - edges[:-1], 0.0, np.diff(edges, axis=0))
        return np.asarray((cdf * below).sum(axis=0) + np.maximum(v - edges[-1], 0.0))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.shortfall(v))

    def _cut(self) -> tuple[Forecast, FloatArray, Forecast]:
        """Return a forecast, the scores at which its outcomes are cut, and their distribution."""
        return self, EVEN_SCORES, STANDARD_NORMAL

    def _cells(self, ndim: int) -> tuple[FloatArray, FloatArray]:
        """Return the edges of the cells of outcomes, and the CDF at the middle of each cell.

        Mass at ±∞ is counted at the outermost finite edge.
        """
        forecast, scores, spread = self._cut()
        column = (-1,) + (1,) * max(ndim, len(self.batch))
        edges = forecast.at_score(scores.reshape(column))
        finite = np.where(np.isfinite(edges), edges, np.nan)
        edges = np.clip(edges, np.nanmin(finite, axis=0), np.nanmax(finite, axis=0))
        middle = spread.cdf(0.5 * (scores[1:] + scores[:-1]))
        return edges, middle.reshape(column)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        edges, cdf = self._cells(len(self.batch))
        # The CDF rises between two cells' middles by the mass around the edge that they share.
        ends = np.zeros((1,) * cdf.ndim)
        mass = np.diff(np.concatenate([ends, cdf, ends + 1.0]), axis=0)
        mean = (mass * edges).sum(axis=0)
        away = edges - mean
        largest = np.maximum(np.abs(away).max(axis=0), np.finfo(float).tiny)
        share = (mass * (away / largest) ** 2).sum(axis=0)  # scaled, so that no square underflows
        return np.asarray(mean), np.asarray(largest * np.sqrt(share))
