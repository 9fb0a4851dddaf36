"""The shape Z: what recalibration makes of a standard normal score.

A recalibrator R turns a forecast Q into Q∘R. On the scale of normal scores that is one
univariate distribution, the shape Z with CDF G(Φ(z)), shared by every point: a Gaussian forecast
becomes ``Y = mean + std·Z`` (:class:`LocationScale`), and any other forecast is read through Z
(:class:`Calibrated`). So a shape is itself a :class:`~calibrant.forecast.Forecast` of one score:

* ``Normal(a, b)``       the identity, and the Gaussian recalibrator
* ``Mixture(...)``       the smoothed leader
* ``WarpedNormal(...)``  a piecewise linear R: the online, isotonic and regression recalibrators
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from calibrant import checks
from calibrant.forecast import Forecast, Normal
from calibrant.gaussian import (
    EDGE_SCORE,
    PIT_RESOLUTION,
    FloatArray,
    density,
    hinge,
    log_hinge,
    squared_cdf_integral,
)


class WarpedNormal(Forecast):
    """A standard normal whose levels are warped by a piecewise linear R.

    R joins (0, 0), the points (level, warped level) and (1, 1) by straight lines. Where R is flat
    the shape has a point mass. Where R(p) = 0 or 1 at an inner level p, its p-quantile is ∓∞, as
    the theorem of online recalibration demands; means, CRPS and shortfalls would be infinite too,
    so these read such a level at ±8.2, the last score that a PIT in double precision can tell
    from infinity.
    """

    def __init__(self, levels: ArrayLike, warped: ArrayLike) -> None:
        self._levels = np.concatenate([[0.0], checks.levels_grid(levels), [1.0]])
        self._warped = np.concatenate([[0.0], checks.probabilities("warped", warped), [1.0]])
        if self._levels.shape != self._warped.shape:
            raise ValueError(
                f"One warped value a level is needed, but got {self._warped.size - 2} values "
                f"for {self._levels.size - 2} levels."
            )
        if np.any(np.diff(self._warped) < 0.0):
            raise ValueError("`warped` must be non-decreasing.")
        knots = np.clip(self._warped[1:-1], PIT_RESOLUTION, 1.0 - PIT_RESOLUTION)
        self._knots = np.concatenate([[0.0], knots, [1.0]])
        self._edges = ndtri(self._knots)
        self._level_scores = ndtri(self._levels)
        # Segment k joins knots k and k + 1 by a line: G = lift + slope·Φ(z) where the segment
        # lies in the lower half, 1 − G = lift + slope·Φ(−z) in the upper half, so that neither
        # tail is a difference of large numbers. Next to no width, it is a point mass.
        width, mass = np.diff(self._knots), np.diff(self._levels)
        self._upper = self._knots[:-1] + self._knots[1:] > 1.0
        self._upper[[0, -1]] = False, True  # whatever rounding says
        tail = np.where(self._upper, 1.0 - self._knots[:-1], self._knots[1:])
        self._wide = width > 1e-7 * tail
        self._mass = mass
        self._slopes = np.divide(mass, width, out=np.zeros_like(mass), where=self._wide)
        self._lifts = np.where(
            self._upper,
            (1.0 - self._levels[1:]) - self._slopes * (1.0 - self._knots[1:]),
            self._levels[:-1] - self._slopes * self._knots[:-1],
        )

    def __repr__(self) -> str:
        return f"WarpedNormal(levels={self._levels.size - 2})"

    @property
    def batch(self) -> tuple[int, ...]:
        return ()

    def __getitem__(self, index: Any) -> WarpedNormal:
        raise TypeError("A shape is a forecast of one score: it has no points to choose from.")

    def warp(self, p: ArrayLike) -> FloatArray:
        """Return R(p), exactly the given value at each grid level."""
        return np.asarray(np.interp(checks.probabilities("p", p), self._levels, self._warped))

    def unwarp(self, u: ArrayLike) -> FloatArray:
        """Return G(u) = sup{p : R(p) ≤ u}, the CDF of the recalibrated PIT."""
        u = checks.probabilities("u", u)
        segment = np.minimum(
            np.searchsorted(self._warped, u, side="right") - 1, self._warped.size - 2
        )
        start, end = self._warped[segment], self._warped[segment + 1]
        width = np.where(end > start, end - start, 1.0)
        rise = (self._levels[segment + 1] - self._levels[segment]) * (u - start) / width
        return np.where(u >= 1.0, 1.0, self._levels[segment] + rise)

    def score(self, y: ArrayLike) -> FloatArray:
        z = checks.as_floats("y", y)
        # A finite score has a PIT below 1, which matters if mass lies at +∞.
        u = np.where(np.isposinf(z), 1.0, np.minimum(ndtr(z), 1.0 - PIT_RESOLUTION))
        first, last = self._warped[1], self._warped[-2]
        score = np.array(ndtri(self.unwarp(u)))
        # In the outer segments G and 1 − G are proportional to Φ(z) and Φ(−z): use logarithms.
        low, high = u < first, u > last
        score[low] = _tail_score(z[low], self._levels[1], first)
        score[high] = -_tail_score(-z[high], 1.0 - self._levels[-2], 1.0 - last)
        return score

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        p = ndtr(z)
        first, last = self._levels[1], self._levels[-2]
        inner = np.array(ndtri(self.warp(p)))
        low, high = p < first, p > last
        inner[low] = _tail_score(z[low], self._warped[1], first)
        inner[high] = -_tail_score(-z[high], 1.0 - self._warped[-2], 1.0 - last)
        # Φ(Φ⁻¹(p)) is p up to rounding; at the levels of the table nothing may be rounded.
        knot = np.minimum(np.searchsorted(self._level_scores, z), self._levels.size - 1)
        at_level = self._level_scores[knot] == z
        inner[at_level] = ndtri(self._warped[knot[at_level]])
        return inner

    def pdf(self, y: ArrayLike) -> FloatArray:
        z = checks.as_floats("y", y)
        return np.asarray(self._slopes[self._segment(z)] * density(z))

    def mean(self) -> FloatArray:
        inner = self._slopes * -np.diff(density(self._edges))
        return np.asarray(inner.sum() + self._point_masses(self._edges[:-1]))

    def std(self) -> FloatArray:
        mean = self.mean()
        finite_edges = np.where(np.isinf(self._edges), 0.0, self._edges)
        square = np.diff(self._knots) - np.diff(finite_edges * density(self._edges))
        inner = self._slopes * square
        variance = inner.sum() + self._point_masses(self._edges[:-1] ** 2) - mean * mean
        return np.asarray(np.sqrt(variance))

    def crps(self, y: ArrayLike) -> FloatArray:
        z = checks.finite("y", y)[..., None]
        length, linear, squared = self._integrals(np.minimum(z, self._edges))
        below = np.where(self._upper, length - 2.0 * linear + squared, squared)  # ∫ G²
        length, linear, squared = self._integrals(np.maximum(z, self._edges))
        above = np.where(self._upper, squared, length - 2.0 * linear + squared)  # ∫ (1 − G)²
        return np.asarray((below + above).sum(axis=-1))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        z = checks.as_floats("v", v)
        length, linear, _ = self._integrals(np.minimum(z[..., None], self._edges))
        return np.asarray(np.where(self._upper, length - linear, linear).sum(axis=-1))  # ∫ G

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        z = checks.as_floats("v", v)
        in_tail = z <= self._edges[1]
        with np.errstate(divide="ignore"):
            tail = np.log(self._slopes[0]) + log_hinge(z)
            return np.where(in_tail, tail, np.log(self.shortfall(np.maximum(z, self._edges[1]))))

    def _segment(self, z: FloatArray) -> np.ndarray:
        found = np.searchsorted(self._edges, z, side="right") - 1
        return np.clip(found, 0, self._slopes.size - 1)

    def _point_masses(self, values: FloatArray) -> float:
        return float((self._mass * values)[~self._wide].sum())

    def _integrals(self, edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrate 1, L and L² over each segment, L = lift + slope·Φ(±z) being G or 1 − G."""
        # An infinite edge has a finite neighbour or itself beside it: where it matters, lift = 0.
        length = np.diff(np.where(np.isinf(edges), 0.0, edges), axis=-1)
        sides = np.where(self._upper, -1.0, 1.0)
        left, right = sides * edges[..., :-1], sides * edges[..., 1:]
        first = sides * (hinge(right) - hinge(left))  # ∫ Φ(±z)
        second = sides * (squared_cdf_integral(right) - squared_cdf_integral(left))
        lift, slope = self._lifts, self._slopes
        linear = lift * length + slope * first
        return length, linear, lift**2 * length + 2.0 * lift * slope * first + slope**2 * second


def _tail_score(z: FloatArray, numerator: float, denominator: float) -> FloatArray:
    """Return Φ⁻¹(Φ(z)·numerator/denominator), precise however small Φ(z) is."""
    if numerator == 0.0 or z.size == 0:
        return np.full_like(z, -np.inf)
    log_p = log_ndtr(z) + np.log(numerator / denominator)
    return np.asarray(ndtri_exp(np.minimum(log_p, np.log(numerator))))


class LocationScale(Forecast):
    """Recalibrated Gaussian forecasts: Y = mean + std·Z with one shape Z for all points."""

    def __init__(self, location: ArrayLike, scale: ArrayLike, shape: Forecast) -> None:
        base = Normal(location, scale)
        self.location, self.scale, self.shape = base.mean(), base.std(), shape

    def __repr__(self) -> str:
        return f"LocationScale(batch={self.batch}, shape={self.shape!r})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.location.shape

    def __getitem__(self, index: Any) -> LocationScale:
        return LocationScale(self.location[index], self.scale[index], self.shape)

    def score(self, y: ArrayLike) -> FloatArray:
        return self.shape.score(self._standardised(y))

    def at_score(self, z: ArrayLike) -> FloatArray:
        return np.asarray(self.location + self.scale * self.shape.at_score(z))

    def pdf(self, y: ArrayLike) -> FloatArray:
        return self.shape.pdf(self._standardised(y)) / self.scale

    def mean(self) -> FloatArray:
        return np.asarray(self.location + self.scale * self.shape.mean())

    def std(self) -> FloatArray:
        return np.asarray(self.scale * self.shape.std())

    def crps(self, y: ArrayLike) -> FloatArray:
        return np.asarray(self.scale * self.shape.crps(self._standardised(y)))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        return np.asarray(self.scale * self.shape.shortfall(self._standardised(v)))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        return np.log(self.scale) + self.shape.log_shortfall(self._standardised(v))

    def cdf_gradient(self, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of P(Y ≤ y) by location and by scale."""
        v = self._standardised(y)
        slope = -self.shape.pdf(v) / self.scale
        return slope, slope * v

    def shortfall_gradient(self, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of E[(v − Y)₊] by location and by scale."""
        s = self._standardised(v)
        below = self.shape.cdf(s)
        return -below, self.shape.shortfall(s) - s * below

    def log_shortfall_gradient(self, v: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of log E[(v − Y)₊] by location and by scale, without underflow."""
        s = self._standardised(v)
        # G/h as a difference of logarithms: both underflow long before their ratio does.
        ratio = np.exp(log_ndtr(self.shape.score(s)) - self.shape.log_shortfall(s))
        return -ratio / self.scale, (1.0 - s * ratio) / self.scale

    def _standardised(self, y: ArrayLike) -> FloatArray:
        return np.asarray((checks.as_floats("y", y) - self.location) / self.scale)


class Calibrated(Forecast):
    """Any forecast read through a shape: its quantile function is Q∘R.

    CDF and quantiles are exact; expectations are sums over 2048 cells of outcomes.
    """

    def __init__(self, forecast: Forecast, shape: Forecast) -> None:
        self.forecast, self.shape = forecast, shape

    def __repr__(self) -> str:
        return f"Calibrated({self.forecast!r}, shape={self.shape!r})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.forecast.batch

    def __getitem__(self, index: Any) -> Calibrated:
        return Calibrated(self.forecast[index], self.shape)

    def score(self, y: ArrayLike) -> FloatArray:
        return self.shape.score(self.forecast.score(y))

    def at_score(self, z: ArrayLike) -> FloatArray:
        return self.forecast.at_score(self.shape.at_score(z))

    def pdf(self, y: ArrayLike) -> FloatArray:
        z = self.forecast.score(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.shape.pdf(z) / density(z)  # g(u), the density of recalibrated PITs
        return self.forecast.pdf(y) * np.where(np.isfinite(ratio), ratio, 0.0)

    def mean(self) -> FloatArray:
        return self._moments()[0]

    def std(self) -> FloatArray:
        return self._moments()[1]

    def crps(self, y: ArrayLike) -> FloatArray:
        y = checks.finite("y", y)
        edges, cdf = self._cells(y.ndim)
        below = np.clip(y - edges[:-1], 0.0, np.diff(edges, axis=0))
        above = np.clip(edges[1:] - y, 0.0, np.diff(edges, axis=0))
        inside = (cdf**2 * below + (1.0 - cdf) ** 2 * above).sum(axis=0)
        return np.asarray(inside + np.maximum(edges[0] - y, 0.0) + np.maximum(y - edges[-1], 0.0))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        v = checks.as_floats("v", v)
        edges, cdf = self._cells(v.ndim)
        below = np.clip(v - edges[:-1], 0.0, np.diff(edges, axis=0))
        return np.asarray((cdf * below).sum(axis=0) + np.maximum(v - edges[-1], 0.0))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.shortfall(v))

    def _cells(self, ndim: int) -> tuple[FloatArray, FloatArray]:
        """Cut the outcomes into cells, even in raw score: return their edges, and G in the middle.

        The cells reach as far as the calibrated forecast does, and at least to ±8.2; mass at ±∞
        is counted at the ends. Only G is evaluated, which needs no inversion of the shape.
        """
        ends = self.shape.at_score(np.array([-EDGE_SCORE, EDGE_SCORE]))
        reach = np.where(np.isinf(ends), 0.0, ends)
        scores = np.linspace(min(reach[0], -EDGE_SCORE), max(reach[1], EDGE_SCORE), 2049)
        column = (-1,) + (1,) * max(ndim, len(self.batch))
        middle = self.shape.cdf(0.5 * (scores[1:] + scores[:-1]))
        return self.forecast.at_score(scores.reshape(column)), middle.reshape(column)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        edges, cdf = self._cells(len(self.batch))
        # Between the middles of two cells lies the mass around the edge that they share.
        ends = np.zeros((1,) * cdf.ndim)
        mass = np.diff(np.concatenate([ends, cdf, ends + 1.0]), axis=0)
        mean = (mass * edges).sum(axis=0)
        return np.asarray(mean), np.sqrt((mass * (edges - mean) ** 2).sum(axis=0))


def compose(forecast: Forecast, shape: Forecast) -> Forecast:
    """Return the forecast recalibrated by a shape, in the simplest form that is exact."""
    if isinstance(shape, Normal) and shape.mean() == 0.0 and shape.std() == 1.0:
        return forecast
    if isinstance(forecast, Normal):
        if isinstance(shape, Normal):  # a Gaussian stays Gaussian
            return Normal(forecast.at_score(shape.mean()), forecast.std() * shape.std())
        return LocationScale(forecast.mean(), forecast.std(), shape)
    return Calibrated(forecast, shape)
