"""Tables of a residual: log G, log h and their slopes at the cost of a look-up.

For a location-scale forecast Y = mean + std·Z and a threshold v = (y − mean)/std,

    log P(Y ≤ y) = log G(v),    log E[(y − Y)₊] = log std + log h(v),    h′ = G,

so these two curves of one variable are all that an acquisition needs to know about a residual.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import log_ndtr

from calibrant.core.normal import LOG_SQRT_2PI, log_hinge_and_slope
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal

Reading = tuple[FloatArray, FloatArray]  # a curve and its slope


class Curves(ABC):
    """log G and log h of a residual, each with its slope."""

    @abstractmethod
    def log_cdf(self, v: FloatArray) -> Reading:
        """Return log G(v) and its derivative."""

    @abstractmethod
    def log_shortfall(self, v: FloatArray) -> Reading:
        """Return log h(v) = log E[(v − Z)₊] and its derivative."""


class GaussianCurves(Curves):
    """The curves of a normal residual, in closed form."""

    def __init__(self, residual: Normal) -> None:
        self._mean, self._std = float(residual.mean()), float(residual.std())

    def log_cdf(self, v: FloatArray) -> Reading:
        s = (v - self._mean) / self._std
        value = log_ndtr(s)
        return value, np.exp(-0.5 * s * s - LOG_SQRT_2PI - value) / self._std

    def log_shortfall(self, v: FloatArray) -> Reading:
        value, slope = log_hinge_and_slope((v - self._mean) / self._std)
        return value + np.log(self._std), slope / self._std


class TabulatedCurves(Curves):
    """The curves of any other residual, by monotone cubic interpolation of exact values.

    Knots are even in asinh(v): in v they are ``step`` apart near 0, and apart by ``step`` times
    their size in the tails, where the logarithms grow like v².
    """

    def __init__(self, residual: Forecast, step: float = 0.1) -> None:
        self._step = step
        half = round(14.0 / step)
        self._t = np.arange(-half, half + 1) * step  # |v| up to 600,000
        v, stretch = np.sinh(self._t), np.cosh(self._t)  # stretch is dv/dt
        log_cdf, log_shortfall = log_ndtr(residual.score(v)), residual.log_shortfall(v)
        # Where the residual has no mass the curves would be −∞; a steep parabola replaces them.
        floor = -0.5 * v * v - 745.0
        log_cdf, log_shortfall = (
            np.where(np.isfinite(part), part, floor) for part in (log_cdf, log_shortfall)
        )
        # h′ = G gives the exact slope of log h, except below a level that is played at −∞: h reads
        # it at −8.2, so that G and h do not match there.
        exact = np.exp(np.minimum(log_cdf - log_shortfall, 600.0)) * stretch
        self._cdf = (log_cdf, monotone_slopes(log_cdf, np.gradient(log_cdf, step), step))
        self._shortfall = (log_shortfall, monotone_slopes(log_shortfall, exact, step))

    @property
    def shortfall_table(self) -> Reading:
        """The values of log h at the knots, and its slopes with respect to t = asinh v."""
        return self._shortfall

    def log_cdf(self, v: FloatArray) -> Reading:
        return self._read(self._cdf, v)

    def log_shortfall(self, v: FloatArray) -> Reading:
        return self._read(self._shortfall, v)

    def _read(self, curve: Reading, v: FloatArray) -> Reading:
        """Return the cubic Hermite interpolation of a curve, and its derivative by v."""
        t = np.clip(np.arcsinh(v), self._t[0], self._t[-1])
        place = (t - self._t[0]) / self._step
        left = np.minimum(place.astype(np.intp), self._t.size - 2)
        s = place - left
        values, slopes = curve
        start, end = values[left], values[left + 1]
        rise, fall = slopes[left] * self._step, slopes[left + 1] * self._step
        # p(s) = start + s·(rise + s·(b + s·a))
        a = 2.0 * (start - end) + rise + fall
        b = 3.0 * (end - start) - 2.0 * rise - fall
        value = start + s * (rise + s * (b + s * a))
        by_t = (rise + s * (2.0 * b + 3.0 * s * a)) / self._step
        return value, by_t / np.cosh(t)


def monotone_slopes(values: FloatArray, slopes: FloatArray, step: float) -> FloatArray:
    """Return slopes for a monotone cubic interpolation (Fritsch and Carlson 1980).

    A slope of at most three times the smaller of the two neighbouring secants keeps each cubic
    piece non-decreasing where the values are.
    """
    secants = np.maximum(np.diff(values), 0.0) / step
    before, after = np.append(secants[:1], secants), np.append(secants, secants[-1:])
    return np.clip(slopes, 0.0, 3.0 * np.minimum(before, after))


def curves(residual: Forecast) -> Curves:
    """Return the curves of a residual: in closed form for a normal one, otherwise tabulated."""
    return GaussianCurves(residual) if isinstance(residual, Normal) else TabulatedCurves(residual)
