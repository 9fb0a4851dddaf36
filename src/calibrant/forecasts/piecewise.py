"""The residual of a piecewise linear R: a standard normal whose levels are warped."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from calibrant.core import validate
from calibrant.core.normal import PIT_RESOLUTION, density, hinge, log_hinge, squared_cdf_integral
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class WarpedNormal(Forecast):
    """A standard normal whose levels are warped by a piecewise linear R.

    R joins (0, 0), the points (level, warped level) and (1, 1) by straight lines. Where R is flat
    the residual has a point mass. Where R(p) is 0 or 1 at an inner level p, the p-quantile is ∓∞,
    as the theorem of online recalibration requires. Means, CRPS and shortfalls would then be
    infinite too, so they read such a level at ±8.2, the largest score whose PIT differs from 1 in
    double precision.
    """

    def __init__(self, levels: ArrayLike, warped: ArrayLike) -> None:
        self._levels = np.concatenate([[0.0], validate.levels_grid(levels), [1.0]])
        self._warped = np.concatenate([[0.0], validate.probabilities("warped", warped), [1.0]])
        if self._levels.shape != self._warped.shape:
            raise ValueError(
                f"One warped value per level is needed, but got {self._warped.size - 2} values "
                f"for {self._levels.size - 2} levels."
            )
        if np.any(np.diff(self._warped) < 0.0):
            raise ValueError("`warped` must be non-decreasing.")
        # Computed once, as every read uses them; rounding must not put the scores out of order.
        self._level_scores = ndtri(self._levels)
        self._warped_scores = np.maximum.accumulate(ndtri(self._warped))

    def __repr__(self) -> str:
        return f"WarpedNormal(levels={self._levels.size - 2})"

    @property
    def batch(self) -> tuple[int, ...]:
        return ()

    def __getitem__(self, index: Any) -> WarpedNormal:
        raise TypeError("A residual is a forecast of a single score and cannot be indexed.")

    def warp(self, p: ArrayLike) -> FloatArray:
        """Return R(p), exactly the given value at each grid level."""
        p = validate.probabilities("p", p)
        knot, at_knot = _nearest(self._levels, p)
        inner = np.interp(p, self._levels, self._warped)
        return np.asarray(np.where(at_knot, self._warped[knot], inner))

    def unwarp(self, u: ArrayLike) -> FloatArray:
        """Return G(u) = sup{p : R(p) ≤ u}, the CDF of the recalibrated PIT."""
        return self._unwarped(self._on_knots(validate.probabilities("u", u)))

    def _on_knots(self, u: FloatArray) -> FloatArray:
        """Return PITs, moved to a knot where they are one up to rounding.

        At a jump of G the last bit of u decides, and u may come from a rounded R(p). Not within
        1e-9 of 0 and 1, where PITs truly differ by less than rounding.
        """
        knot, at_knot = _nearest(self._warped, u)
        return np.where(at_knot & (u > 1e-9) & (u < 1.0 - 1e-9), self._warped[knot], u)

    def _unwarped(self, u: FloatArray) -> FloatArray:
        segment = np.minimum(
            np.searchsorted(self._warped, u, side="right") - 1, self._warped.size - 2
        )
        start, end = self._warped[segment], self._warped[segment + 1]
        width = np.where(end > start, end - start, 1.0)
        rise = (self._levels[segment + 1] - self._levels[segment]) * (u - start) / width
        return np.where(u >= 1.0, 1.0, self._levels[segment] + rise)

    def kinks(self) -> FloatArray:
        """Return the scores at which the CDF bends or jumps, and one just below each of them."""
        inner = np.unique(self._warped_scores[1:-1])
        inner = inner[np.isfinite(inner)]
        # :meth:`unwarp` reads a PIT this close to a knot as the knot: "just below" is further away,
        # except in the tails, where it does not.
        rounded = np.where(np.abs(inner) < 6.0, 4e-13 / density(inner), 0.0)
        below = inner - np.maximum(rounded, 1e-12 * (1.0 + np.abs(inner)))
        return np.unique(np.concatenate([below, inner]))

    def mirrored(self) -> WarpedNormal:
        """Return the distribution of −Z."""
        return WarpedNormal(1.0 - self._levels[-2:0:-1], 1.0 - self._warped[-2:0:-1])

    def score(self, y: ArrayLike) -> FloatArray:
        z = validate.as_floats("y", y)
        # A finite score must have a PIT below 1: there may be mass at +∞.
        u = np.where(np.isposinf(z), 1.0, np.minimum(ndtr(z), 1.0 - PIT_RESOLUTION))
        u = self._on_knots(u)  # the outermost ones, too: they may be jumps
        first, last = self._warped[1], self._warped[-2]
        score = np.array(ndtri(self._unwarped(u)))
        # In the outer segments G and 1 − G are proportional to Φ(z) and Φ(−z): use logarithms.
        low, high = u < first, u > last
        score[low] = _tail_score(z[low], self._levels[1], first)
        score[high] = -_tail_score(-z[high], 1.0 - self._levels[-2], 1.0 - last)
        return score

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        p = ndtr(z)
        first, last = self._levels[1], self._levels[-2]
        inner = np.array(ndtri(np.interp(p, self._levels, self._warped)))
        low, high = p < first, p > last
        inner[low] = _tail_score(z[low], self._warped[1], first)
        inner[high] = -_tail_score(-z[high], 1.0 - self._warped[-2], 1.0 - last)
        knot, at_knot = _nearest(self._level_scores, z)
        inner[at_knot] = self._warped_scores[knot[at_knot]]
        return inner

    def pdf(self, y: ArrayLike) -> FloatArray:
        z = validate.as_floats("y", y)
        found = np.searchsorted(self._segments.edges, z, side="right") - 1
        segment = np.clip(found, 0, self._segments.slope.size - 1)
        return np.asarray(self._segments.slope[segment] * density(z))

    def mean(self) -> FloatArray:
        segments = self._segments
        spread = segments.slope * -np.diff(density(segments.edges))
        return np.asarray(spread.sum() + (segments.point_mass * segments.place).sum())

    def std(self) -> FloatArray:
        segments = self._segments
        finite_edges = np.where(np.isinf(segments.edges), 0.0, segments.edges)
        square = np.diff(ndtr(segments.edges) - finite_edges * density(segments.edges))
        spread = (segments.slope * square).sum()
        points = (segments.point_mass * segments.place**2).sum()
        return np.asarray(np.sqrt(spread + points - self.mean() ** 2))

    def crps(self, y: ArrayLike) -> FloatArray:
        z = validate.finite("y", y)[..., None]
        segments = self._segments
        length, linear, squared = segments.integrals(np.minimum(z, segments.edges))
        below = np.where(segments.upper, length - 2.0 * linear + squared, squared)  # ∫ G²
        length, linear, squared = segments.integrals(np.maximum(z, segments.edges))
        above = np.where(segments.upper, squared, length - 2.0 * linear + squared)  # ∫ (1 − G)²
        return np.asarray((below + above).sum(axis=-1))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        z = validate.as_floats("v", v)
        segments = self._segments
        finite = np.clip(z, -1e300, 1e300)
        length, linear, _ = segments.integrals(np.minimum(finite[..., None], segments.edges))
        integral = np.where(segments.upper, length - linear, linear).sum(axis=-1)  # ∫ G
        return np.where(np.isposinf(z), np.inf, np.where(np.isneginf(z), 0.0, integral))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        z = validate.as_floats("v", v)
        first_edge = self._segments.edges[1]
        tail = np.log(self._segments.slope[0]) + log_hinge(z)
        inner = np.log(self.shortfall(np.maximum(z, first_edge)))
        return np.where(z <= first_edge, tail, inner)

    @cached_property
    def _segments(self) -> _Segments:
        return _Segments(self._levels, self._warped)


class _Segments:
    """G as lines between knots, for expectations; infinite knots are read at ±8.2.

    On a segment in the lower half G = lift + slope·Φ(z), and on one in the upper half
    1 − G = lift + slope·Φ(−z), so neither tail is computed as a difference of large numbers. A
    segment of almost no width counts as a point mass at its middle.
    """

    def __init__(self, levels: FloatArray, warped: FloatArray) -> None:
        inner = np.clip(warped[1:-1], PIT_RESOLUTION, 1.0 - PIT_RESOLUTION)
        knots = np.concatenate([[0.0], inner, [1.0]])
        self.edges = ndtri(knots)
        width, mass = np.diff(knots), np.diff(levels)
        self.upper = knots[:-1] + knots[1:] > 1.0
        self.upper[[0, -1]] = False, True  # even if rounding makes it look otherwise
        tail = np.where(self.upper, 1.0 - knots[:-1], knots[1:])
        wide = width > 1e-8 * tail  # on narrower segments the slope is mostly rounding error
        self.slope = np.divide(mass, width, out=np.zeros_like(mass), where=wide)
        from_above = (1.0 - levels[1:]) - self.slope * (1.0 - knots[1:])
        from_below = levels[:-1] - self.slope * knots[:-1]
        middle = 0.5 * (levels[:-1] + levels[1:])
        self.lift = np.where(
            wide,
            np.where(self.upper, from_above, from_below),
            np.where(self.upper, 1.0 - middle, middle),
        )
        self.point_mass = np.where(wide, 0.0, mass)
        self.place = np.zeros_like(mass)
        self.place[~wide] = 0.5 * (self.edges[:-1] + self.edges[1:])[~wide]

    def integrals(self, edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrate 1, L and L² over each segment, where L = lift + slope·Φ(±z) is G or 1 − G."""
        # An infinite edge occurs only in a tail, where the lift is 0 and the length is never used.
        length = np.diff(np.where(np.isinf(edges), 0.0, edges), axis=-1)
        sides = np.where(self.upper, -1.0, 1.0)
        left, right = sides * edges[..., :-1], sides * edges[..., 1:]
        first = sides * (hinge(right) - hinge(left))  # ∫ Φ(±z)
        second = sides * (squared_cdf_integral(right) - squared_cdf_integral(left))
        linear = self.lift * length + self.slope * first
        squared = self.lift**2 * length + self.slope * (
            2.0 * self.lift * first + self.slope * second
        )
        return length, linear, squared


def _nearest(knots: FloatArray, x: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knot nearest to each x, and whether x equals that knot up to rounding.

    Where R jumps to ±∞ the last bit of a level decides, and 0.5 − 0.5·0.8 must mean 0.1. A round
    trip through Φ and Φ⁻¹ loses a few hundred units in the last place at most, about 1e-13.
    """
    above = np.clip(np.searchsorted(knots, x), 1, knots.size - 1)
    with np.errstate(invalid="ignore"):  # the outermost knots may be infinite
        knot = np.where(np.abs(x - knots[above - 1]) < np.abs(knots[above] - x), above - 1, above)
        near = np.abs(x - knots[knot]) <= 1e-13 * (1.0 + np.abs(x))
    return knot, near | (x == knots[knot])


def _tail_score(z: FloatArray, numerator: float, denominator: float) -> FloatArray:
    """Return Φ⁻¹(Φ(z)·numerator/denominator), accurate however small Φ(z) is."""
    if numerator == 0.0 or z.size == 0:
        return np.full_like(z, -np.inf)
    log_p = log_ndtr(z) + np.log(numerator) - np.log(denominator)
    return np.asarray(ndtri_exp(np.minimum(log_p, np.log(numerator))))
