"""The residual Z: what recalibration makes of a standard normal score.

A recalibrator R turns a forecast Q into Q∘R. On the scale of normal scores that is one univariate
distribution, the residual Z with CDF G(Φ(z)), shared by all points. A Gaussian forecast becomes
``Y = mean + std·Z`` (:class:`LocationScale`); any other forecast is read through Z
(:class:`Calibrated`). A residual is itself a :class:`~calibrant.forecasts.Forecast` of one score:

* ``Normal(a, b)``       of the identity and the Gaussian recalibrator
* ``Mixture(...)``       of the smoothed leader
* ``GeneralisedNormal``  of the generalised normal recalibrator
* ``WarpedNormal(...)``  of a piecewise linear R: the online, isotonic and regression recalibrators
                         (:mod:`calibrant.forecasts.piecewise`)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from calibrant.core import validate
from calibrant.core.normal import density, standardised
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.generalised_normal import GeneralisedNormal
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.normal import Mixture, Normal
from calibrant.forecasts.numeric import EVEN_SCORES, NumericForecast
from calibrant.forecasts.piecewise import WarpedNormal
from calibrant.forecasts.quantiles import Quantiles

_LARGEST = np.finfo(float).max


class LocationScale(Forecast):
    """Recalibrated Gaussian forecasts: Y = location + scale·Z, one residual Z for all points."""

    def __init__(self, location: ArrayLike, scale: ArrayLike, residual: Forecast) -> None:
        base = Normal(location, scale)
        self.location, self.scale, self.residual = base.mean(), base.std(), residual

    def __repr__(self) -> str:
        return f"LocationScale(batch={self.batch}, residual={self.residual!r})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.location.shape

    def __getitem__(self, index: Any) -> LocationScale:
        return LocationScale(self.location[index], self.scale[index], self.residual)

    def score(self, y: ArrayLike) -> FloatArray:
        return self.residual.score(self._standardised(y))

    def at_score(self, z: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # outcomes beyond the largest float become infinite
            return np.asarray(self.location + self.scale * self.residual.at_score(z))

    def pdf(self, y: ArrayLike) -> FloatArray:
        return self.residual.pdf(self._standardised(y)) / self.scale

    def mean(self) -> FloatArray:
        return np.asarray(self.location + self.scale * self.residual.mean())

    def std(self) -> FloatArray:
        return np.asarray(self.scale * self.residual.std())

    def crps(self, y: ArrayLike) -> FloatArray:
        return np.asarray(self.scale * self.residual.crps(self._standardised(y)))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        return np.asarray(self.scale * self.residual.shortfall(self._standardised(v)))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        return np.log(self.scale) + self.residual.log_shortfall(self._standardised(v))

    def cdf_gradient(self, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of P(Y ≤ y) with respect to location and scale."""
        v = self._standardised(y)
        slope = -self.residual.pdf(v) / self.scale
        return slope, slope * v

    def shortfall_gradient(self, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of E[(v − Y)₊] with respect to location and scale."""
        s = self._standardised(v)
        below = self.residual.cdf(s)
        return -below, self.residual.shortfall(s) - s * below

    def log_shortfall_gradient(self, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of log E[(v − Y)₊] with respect to location and scale."""
        s = self._standardised(v)
        # G/h as a difference of logarithms, because both underflow long before their ratio does.
        ratio = np.exp(log_ndtr(self.residual.score(s)) - self.residual.log_shortfall(s))
        return -ratio / self.scale, (1.0 - s * ratio) / self.scale

    def _standardised(self, y: ArrayLike) -> FloatArray:
        return standardised(validate.as_floats("y", y), self.location, self.scale)


class Calibrated(NumericForecast):
    """Any forecast recalibrated by a residual: its quantile function is Q∘R.

    CDF and quantiles are exact; expectations are sums over some 2,000 cells of outcomes.
    """

    def __init__(self, forecast: Forecast, residual: Forecast) -> None:
        self.forecast, self.residual = forecast, residual

    def __repr__(self) -> str:
        return f"Calibrated({self.forecast!r}, residual={self.residual!r})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.forecast.batch

    def __getitem__(self, index: Any) -> Calibrated:
        return Calibrated(self.forecast[index], self.residual)

    def score(self, y: ArrayLike) -> FloatArray:
        return self.residual.score(self.forecast.score(y))

    def at_score(self, z: ArrayLike) -> FloatArray:
        inner = self.residual.at_score(z)
        # A level played at ±∞ stays there, even where the raw forecast's support is bounded.
        return np.where(np.isinf(inner), inner, self.forecast.at_score(inner))

    def pdf(self, y: ArrayLike) -> FloatArray:
        z = self.forecast.score(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.residual.pdf(z) / density(z)  # g(u), the density of recalibrated PITs
        return self.forecast.pdf(y) * np.where(np.isfinite(ratio), ratio, 0.0)

    def _cut(self) -> tuple[Forecast, FloatArray, Forecast]:
        # At quantiles of the raw forecast and of the calibrated one, which may reach further.
        own = self.residual.at_score(EVEN_SCORES[::7])  # fewer, as each may need a root search
        scores = np.unique(np.concatenate([EVEN_SCORES, own[np.isfinite(own)]]))
        return self.forecast, scores, self.residual


def compose(forecast: Forecast, residual: Forecast) -> Forecast:
    """Return the forecast recalibrated by a residual, in the simplest exact form.

    A residual composed of two is applied in two steps, so that the quantiles of a chain of
    recalibrators are the same to the last bit however the chain is grouped.
    """
    if isinstance(residual, LocationScale):
        return compose(
            compose(forecast, Normal(residual.location, residual.scale)), residual.residual
        )
    if isinstance(residual, Calibrated):
        return compose(compose(forecast, residual.forecast), residual.residual)
    if isinstance(residual, Normal) and residual.mean() == 0.0 and residual.std() == 1.0:
        return forecast
    if isinstance(forecast, Mapped):  # recalibrate in the model's units: mostly Gaussian there
        return Mapped(compose(forecast.forecast, residual), forecast.outputs)
    if isinstance(forecast, Normal):
        if isinstance(residual, Normal):  # a Gaussian stays Gaussian
            with np.errstate(over="ignore"):
                mean, std = forecast.at_score(residual.mean()), forecast.std() * residual.std()
            return Normal(np.clip(mean, -_LARGEST, _LARGEST), np.minimum(std, _LARGEST))
        return LocationScale(forecast.mean(), forecast.std(), residual)
    if isinstance(forecast, Quantiles) and isinstance(residual, Normal):
        stretched = forecast.stretched(float(residual.mean()), float(residual.std()))
        return Calibrated(forecast, residual) if stretched is None else stretched
    return Calibrated(forecast, residual)


def kinks(residual: Forecast) -> FloatArray:
    """Return where the CDF of a residual bends or jumps, with a place just below each of them."""
    match residual:
        case WarpedNormal():
            return residual.kinks()
        case LocationScale():
            return np.asarray(residual.location + residual.scale * kinks(residual.residual))
        case Calibrated():
            own = residual.forecast.at_score(kinks(residual.residual))
            return np.concatenate([kinks(residual.forecast), own[np.isfinite(own)]])
    return np.empty(0)  # smooth


def mirrored(residual: Forecast) -> Forecast:
    """Return the residual −Z, which recalibrates outcomes of the opposite sign."""
    match residual:
        case Normal():
            return Normal(-residual.mean(), residual.std())
        case Mixture():
            return Mixture(residual.weights, -residual.means, residual.stds)
        case GeneralisedNormal():
            return residual  # it is symmetric
        case WarpedNormal():
            return residual.mirrored()
        case LocationScale():
            return LocationScale(-residual.location, residual.scale, mirrored(residual.residual))
        case Calibrated():
            return Calibrated(mirrored(residual.forecast), mirrored(residual.residual))
    raise TypeError(f"A {type(residual).__name__} is not the residual of a recalibrator.")
