"""The generalised normal distribution: a normal whose tails are as heavy as its shape says.

Density ∝ exp(−|z/scale|^shape), with mean 0. Shape 2 is the normal, 1 the Laplace distribution;
below 2 tails are heavier than normal, above 2 lighter. With w = |z/scale|^shape and Q the upper
regularised incomplete gamma function, for z ≤ 0

    G(z) = ½ Q(1/shape, w)
    h(z) = ½ (scale·Γ(2/shape)/Γ(1/shape)·Q(2/shape, w) + z·Q(1/shape, w))

Both underflow where w passes 700; beyond 600 their logarithms are asymptotic series in 1/w.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammainccinv, gammaln, log_ndtr, ndtr, ndtri_exp

from calibrant.core import validate
from calibrant.core.normal import EDGE_SCORE, density
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast

_FAR = 600.0  # w beyond which the series are used
_FAR_SCORE = 33.0  # |score| beyond which the same is done for quantiles
_LARGEST = 1e150  # |z/scale|: so that powers of it are finite


class GeneralisedNormal(Forecast):
    """One generalised normal distribution of mean 0: a residual.

    Args:
        shape: 2 for the normal, less for heavier tails.
        std: the standard deviation.
    """

    def __init__(self, shape: float = 2.0, std: float = 1.0) -> None:
        self.shape = float(validate.positive("shape", shape))
        self._std = float(validate.positive("std", std))
        self.scale = self._std * float(scale_of_unit_std(self.shape))

    def __repr__(self) -> str:
        return f"GeneralisedNormal(shape={self.shape:g}, std={self._std:g})"

    @property
    def batch(self) -> tuple[int, ...]:
        return ()

    def __getitem__(self, index: Any) -> Self:
        np.empty(())[index]  # an index error for anything but the whole
        return self

    def score(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        score = np.copysign(ndtri_exp(self._log_tail(y)), y)
        return np.where(np.isinf(y), y, np.where(y == 0.0, 0.0, score))

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        near = np.minimum(np.abs(z), _FAR_SCORE)
        w = gammainccinv(1.0 / self.shape, 2.0 * ndtr(-near))
        far = np.minimum(np.abs(z), 1e150)
        w = np.where(far > _FAR_SCORE, self._far_quantile(far), w)
        with np.errstate(over="ignore"):  # outcomes beyond the largest float become infinite
            size = self.scale * w ** (1.0 / self.shape)
        return np.where(np.isinf(z), z, np.copysign(size, z))

    def pdf(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        return np.asarray(np.exp(log_density(self.shape, self._std, y)))

    def mean(self) -> FloatArray:
        return np.asarray(0.0)

    def std(self) -> FloatArray:
        return np.asarray(self._std)

    def crps(self, y: ArrayLike) -> FloatArray:
        # E|Z − y| − ½ E|Z − Z'|, with |v − Z| = 2 (v − Z)₊ − (v − Z) and ½ E|Z − Z'| = ∫ G (1 − G)
        y = validate.finite("y", y)
        return np.asarray(2.0 * self.shortfall(y) - y - self._half_difference())

    def shortfall(self, v: ArrayLike) -> FloatArray:
        v = validate.as_floats("v", v)
        # (v − Z)₊ = v + (Z − v)₊ − …: by symmetry the upper half is the lower one, plus v.
        return np.asarray(np.exp(self._log_lower_shortfall(-np.abs(v))) + np.maximum(v, 0.0))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        v = validate.as_floats("v", v)
        with np.errstate(divide="ignore"):
            above = np.log(self.shortfall(np.maximum(v, 0.0)))
        return np.where(v > 0.0, above, self._log_lower_shortfall(np.minimum(v, 0.0)))

    def _power(self, y: FloatArray) -> FloatArray:
        """Return w = |y/scale|^shape."""
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(np.abs(y / self.scale), _LARGEST) ** self.shape)

    def _log_tail(self, y: FloatArray) -> FloatArray:
        """Return log P(Z ≤ −|y|)."""
        a, w = 1.0 / self.shape, self._power(y)
        near = np.log(0.5 * gammaincc(a, np.minimum(w, _FAR)))
        far = np.maximum(w, _FAR)
        series = np.log1p((a - 1.0) / far * (1.0 + (a - 2.0) / far))
        log_far = (a - 1.0) * np.log(far) - far - gammaln(a) - np.log(2.0) + series
        return np.asarray(np.where(w > _FAR, log_far, near))

    def _log_lower_shortfall(self, v: FloatArray) -> FloatArray:
        """Return log h(v) for v ≤ 0."""
        a, w, size = 1.0 / self.shape, self._power(v), np.abs(v)
        ratio = self.scale * np.exp(gammaln(2.0 * a) - gammaln(a))
        near = np.minimum(w, _FAR)
        reach = np.minimum(size, self.scale * _FAR**a)
        log_near = np.log(0.5 * (ratio * gammaincc(2.0 * a, near) - reach * gammaincc(a, near)))
        # h ≈ density/steepness²·(1 − 3·(shape − 1)/(shape·w)), with steepness shape·w/|v|
        far = np.maximum(w, _FAR)
        steepness = np.log(self.shape * far) - np.log(np.maximum(size, np.finfo(float).tiny))
        series = np.log1p(-3.0 * (self.shape - 1.0) / (self.shape * far))
        log_far = _log_constant(self.shape, self._std) - far - 2.0 * steepness + series
        return np.where(w > _FAR, log_far, log_near)

    def _far_quantile(self, size: FloatArray) -> FloatArray:
        """Return w of the quantiles at scores ±size, by Newton's method on the series."""
        a = 1.0 / self.shape
        goal = -np.log(2.0) - log_ndtr(-np.maximum(size, _FAR_SCORE)) - gammaln(a)
        w = np.maximum(goal, 100.0)
        for _ in range(6):  # it converges like 1/w², with w in the hundreds
            log_series = np.log1p((a - 1.0) / w * (1.0 + (a - 2.0) / w))
            w = np.maximum(w - (w + (1.0 - a) * np.log(w) - log_series - goal), 100.0)
        return np.asarray(w)

    def _half_difference(self) -> float:
        """Return ½ E|Z − Z'| = 2 ∫ G (1 − G) over z < 0, as an integral over scores."""
        nodes, weights = np.polynomial.legendre.leggauss(200)
        scores = 0.5 * EDGE_SCORE * (nodes - 1.0)  # from −8.2 to 0
        below = ndtr(scores)
        slope = density(scores) / self.pdf(self.at_score(scores))  # dz by dscore
        integrand = below * (1.0 - below) * slope
        return float(2.0 * 0.5 * EDGE_SCORE * (weights * integrand).sum())


def scale_of_unit_std(shape: ArrayLike) -> FloatArray:
    """Return the scale at which the std is 1: √(Γ(1/shape)/Γ(3/shape)); √2 of the normal."""
    shape = np.asarray(shape, dtype=float)
    return np.asarray(np.exp(0.5 * (gammaln(1.0 / shape) - gammaln(3.0 / shape))))


def log_density(shape: ArrayLike, std: ArrayLike, z: ArrayLike) -> FloatArray:
    """Return the log-density at z; shape, std and z broadcast."""
    away = np.abs(np.asarray(z, dtype=float)) / (np.asarray(std) * scale_of_unit_std(shape))
    with np.errstate(over="ignore"):
        power = np.minimum(away, _LARGEST) ** np.asarray(shape, dtype=float)
    return np.asarray(_log_constant(shape, std) - power)


def lower_tail(shape: ArrayLike, std: ArrayLike, z: ArrayLike) -> FloatArray:
    """Return P(Z ≤ z); shape, std and z broadcast."""
    z = np.asarray(z, dtype=float)
    away = np.abs(z) / (np.asarray(std) * scale_of_unit_std(shape))
    with np.errstate(over="ignore"):
        power = np.minimum(away, _LARGEST) ** np.asarray(shape, dtype=float)
    tail = 0.5 * gammaincc(1.0 / np.asarray(shape, dtype=float), power)
    return np.asarray(np.where(z < 0.0, tail, 1.0 - tail))


def _log_constant(shape: ArrayLike, std: ArrayLike) -> FloatArray:
    shape = np.asarray(shape, dtype=float)
    scale = np.asarray(std) * scale_of_unit_std(shape)
    return np.asarray(np.log(shape / (2.0 * scale)) - gammaln(1.0 / shape))
