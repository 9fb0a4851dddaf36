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
from calibrant.forecasts.residual import kinks

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

    Knots are even in t = asinh(v): in v they are 0.1 apart near 0, and apart by a tenth of their
    size in the tails, where the logarithms grow like v². Where G bends or jumps, at a point mass of
    the residual, there is one more knot on either side, so that no piece reaches across.
    """

    def __init__(self, residual: Forecast) -> None:
        self._t = np.union1d(even_knots(0.1), np.arcsinh(kinks(residual)))
        value, slope = shortfall_at(residual, self._t)
        self._shortfall = _pieces(self._t, value, slope[:-1], slope[1:])
        log_cdf = _log_cdf(residual, np.sinh(self._t))
        inside = 1e-4 * np.diff(self._t)  # at a knot, rounding may put G on its other side
        ends = _log_cdf_slope(residual, np.stack([self._t[:-1] + inside, self._t[1:] - inside]))
        secants = np.diff(log_cdf) / np.diff(self._t)
        self._cdf = _pieces(self._t, log_cdf, *np.where(np.isfinite(ends), ends, secants))

    def log_cdf(self, v: FloatArray) -> Reading:
        return self._read(self._cdf, v)

    def log_shortfall(self, v: FloatArray) -> Reading:
        value, slope = self._read(self._shortfall, v)
        beyond = v / np.sinh(self._t[-1])  # past the last knot, h grows as v does
        if not np.any(beyond > 1.0):
            return value, slope
        far = np.maximum(beyond, 1.0)
        return value + np.log(far), np.where(beyond > 1.0, 1.0 / np.where(v > 1.0, v, 1.0), slope)

    def _read(self, pieces: FloatArray, v: FloatArray) -> Reading:
        """Return the cubic Hermite interpolation of a curve, and its derivative by v."""
        t = np.clip(np.arcsinh(v), self._t[0], self._t[-1])
        left = np.minimum(np.searchsorted(self._t, t, side="right") - 1, self._t.size - 2)
        width = self._t[left + 1] - self._t[left]
        s = (t - self._t[left]) / width
        start, rise, b, a = pieces[:, left]
        value = start + s * (rise + s * (b + s * a))
        by_t = (rise + s * (2.0 * b + 3.0 * s * a)) / width
        return value, by_t / np.cosh(t)


def even_knots(step: float) -> FloatArray:
    """Return knots in t = asinh(v) for |v| up to 600,000."""
    half = round(14.0 / step)
    return np.arange(-half, half + 1, dtype=float) * step


def shortfall_at(residual: Forecast, t: FloatArray) -> Reading:
    """Return log h at knots t = asinh(v), and its slope by t.

    h′ = G gives the exact slope of log h, except below a level that is played at −∞: h reads it at
    −8.2, so that G and h do not match there.
    """
    v = np.sinh(t)
    log_shortfall = _or_floor(residual.log_shortfall(v), v)
    ratio = np.exp(np.minimum(_log_cdf(residual, v) - log_shortfall, 600.0))
    return log_shortfall, ratio * np.cosh(t)


def monotone_slopes(values: FloatArray, slopes: FloatArray, step: float) -> FloatArray:
    """Return slopes at even knots for a monotone cubic interpolation (Fritsch and Carlson 1980).

    A slope of at most three times the smaller of the two neighbouring secants keeps each cubic
    piece non-decreasing where the values are.
    """
    secants = np.maximum(np.diff(values), 0.0) / step
    before, after = np.append(secants[:1], secants), np.append(secants, secants[-1:])
    return np.clip(slopes, 0.0, 3.0 * np.minimum(before, after))


def _pieces(
    t: FloatArray, values: FloatArray, starting: FloatArray, ending: FloatArray
) -> FloatArray:
    """Return the coefficients of each cubic: p(s) = start + s·(rise + s·(b + s·a)), 0 ≤ s ≤ 1.

    At a kink the slopes on its two sides differ, so that each piece has its own at both ends, and
    is limited by its own secant.
    """
    start, climb = values[:-1], np.maximum(np.diff(values), 0.0)
    rise, fall = (np.clip(part * np.diff(t), 0.0, 3.0 * climb) for part in (starting, ending))
    return np.stack([start, rise, 3.0 * climb - 2.0 * rise - fall, rise + fall - 2.0 * climb])


def _log_cdf(residual: Forecast, v: FloatArray) -> FloatArray:
    return _or_floor(log_ndtr(residual.score(v)), v)


def _log_cdf_slope(residual: Forecast, t: FloatArray) -> FloatArray:
    """Return the slope of log G by t = asinh(v); NaN where the density has lost its digits."""
    v = np.sinh(t)
    density, cdf = residual.pdf(v), np.exp(_log_cdf(residual, v))
    known = (density > 1e-200) & (cdf > 1e-200)
    ratio = np.divide(density, cdf, out=np.full(v.shape, np.nan), where=known)
    return np.asarray(ratio * np.cosh(t))


def _or_floor(values: FloatArray, v: FloatArray) -> FloatArray:
    """Replace −∞, where a residual has no mass, by a steep parabola."""
    return np.where(np.isfinite(values), values, -0.5 * v * v - 745.0)


def curves(residual: Forecast) -> Curves:
    """Return the curves of a residual: in closed form for a normal one, otherwise tabulated."""
    return GaussianCurves(residual) if isinstance(residual, Normal) else TabulatedCurves(residual)
