"""Forecasts given as a table of quantiles, or as samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.core import validate
from calibrant.core.normal import density, hinge, log_hinge, squared_cdf_integral
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class Quantiles(Forecast):
    """Forecasts given by their quantiles at a grid of levels, as from quantile regression.

    >>> from calibrant import Quantiles
    >>> forecast = Quantiles(levels=[0.1, 0.5, 0.9], values=[[-1.0, 0.0, 2.0]])
    >>> low, high = forecast.interval(0.8)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-1.0], [2.0])

    For samples, such as an ensemble or posterior draws, use ``Quantiles.from_samples``.

    Between levels the quantile function is linear in the normal score z, so the forecast is a
    piece of a Gaussian there. Beyond the outermost levels the last slope continues, which gives
    Gaussian tails and full support. All expectations have closed forms. Equal neighbouring
    quantiles form a point mass. An outcome on one gets the score of its upper end, so the PITs of
    even a correct forecast with point masses are not uniform, and recalibrating it does not help.

    Args:
        levels: k ≥ 2 strictly increasing levels inside (0, 1).
        values: the quantiles, shape ``(n, k)`` (or ``(k,)`` for one point), each row
            non-decreasing and not constant.
    """

    def __init__(self, levels: ArrayLike, values: ArrayLike) -> None:
        grid = validate.levels_grid(np.atleast_1d(validate.as_floats("levels", levels)))
        values = validate.finite("values", values)
        if grid.size < 2:
            raise ValueError(f"At least 2 levels are needed, but got {grid.size}.")
        if values.ndim == 0 or values.shape[-1] != grid.size:
            raise ValueError(
                f"The last axis of `values` must hold one quantile per level ({grid.size}), "
                f"but got shape {values.shape}."
            )
        # Quantiles that should be equal may differ in their last bits.
        rounding = 1e-15 * np.abs(values).max(axis=-1, keepdims=True)
        crossing = np.diff(values, axis=-1) < -rounding
        if np.any(crossing):
            row = tuple(int(i) for i in np.argwhere(crossing)[0][:-1])
            raise ValueError(
                "`values` must be non-decreasing along the levels, but they cross"
                f"{f' at point {row[0] if len(row) == 1 else row}' if row else ''}; "
                "pass `np.sort(values, axis=-1)` to rearrange crossing quantiles."
            )
        values = validate.frozen(np.maximum.accumulate(values, axis=-1))
        steps = np.diff(values, axis=-1)
        self._levels, self._values = grid, values
        self._knots = ndtri(grid)
        slopes = steps / np.diff(self._knots)
        whole = ((values[..., -1] - values[..., 0]) / (self._knots[-1] - self._knots[0]))[..., None]
        if not np.all(whole > 0.0):
            raise ValueError(
                "The quantiles of a point must not all be equal: the forecast would have no spread."
            )
        # A tail that starts at a point mass has no slope to continue: it takes the overall slope.
        first = np.where(slopes[..., :1] > 0.0, slopes[..., :1], whole)
        last = np.where(slopes[..., -1:] > 0.0, slopes[..., -1:], whole)
        # Piece j is y = anchor + slope·(z − knot) for z in [edge_j, edge_{j+1}]; j = 0 … k.
        self._slopes = np.concatenate([first, slopes, last], axis=-1)
        self._anchor_values = np.concatenate([values[..., :1], values], axis=-1)
        self._anchor_knots = np.concatenate([self._knots[:1], self._knots])
        self._edges = np.concatenate([[-np.inf], self._knots, [np.inf]])

    @classmethod
    def from_samples(cls, draws: ArrayLike) -> Quantiles:
        """Return the forecast of an ensemble or of posterior draws, one member per last index.

        The sorted members become quantiles at the levels (i − ½)/m. Unlike the empirical
        distribution the result is continuous, so an outcome outside the ensemble's range has a
        finite score.
        """
        draws = np.sort(validate.finite("draws", draws), axis=-1)
        if draws.ndim == 0 or draws.shape[-1] < 2:
            raise ValueError(f"At least 2 draws per point are needed, but got shape {draws.shape}.")
        members = draws.shape[-1]
        return cls((np.arange(members) + 0.5) / members, draws)

    def __repr__(self) -> str:
        return f"Quantiles(batch={self.batch}, levels={self._levels.size})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self._values.shape[:-1]

    def __getitem__(self, index: Any) -> Quantiles:
        return Quantiles(self._levels, self._values[index])

    def stretched(self, shift: float, stretch: float) -> Quantiles | None:
        """Return the forecast recalibrated by N(shift, stretch²): same quantiles, other levels.

        Return None if a level would come too close to 0 or 1 to keep its digits.
        """
        knots = (self._knots - shift) / stretch
        return None if np.abs(knots).max() > 5.0 else Quantiles(ndtr(knots), self._values)

    def score(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        # The piece that ends strictly above y; at a point mass this gives the upper end's score.
        piece = (self._values <= y[..., None]).sum(axis=-1)
        rise = (y - self._pick(self._anchor_values, piece)) / self._pick(self._slopes, piece)
        return np.asarray(self._anchor_knots[piece] + rise)

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        z = np.broadcast_to(z, np.broadcast_shapes(z.shape, self.batch))
        piece = np.searchsorted(self._knots, z)
        run = self._pick(self._slopes, piece) * (z - self._anchor_knots[piece])
        return np.asarray(self._pick(self._anchor_values, piece) + run)

    def pdf(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        piece = (self._values <= y[..., None]).sum(axis=-1)
        return density(self.score(y)) / self._pick(self._slopes, piece)

    def mean(self) -> FloatArray:
        return self._moment(np.zeros(self.batch), 1)

    def std(self) -> FloatArray:
        spread = self._values[..., -1] - self._values[..., 0]  # a unit, so that squares survive
        return np.asarray(spread * np.sqrt(self._moment(self.mean(), 2, spread)))

    def crps(self, y: ArrayLike) -> FloatArray:
        z = self.score(validate.finite("y", y))[..., None]
        below = squared_cdf_integral(np.minimum(z, self._edges))
        above = squared_cdf_integral(-np.maximum(z, self._edges))
        pieces = np.diff(below, axis=-1) - np.diff(above, axis=-1)
        return np.asarray((self._slopes * pieces).sum(axis=-1))

    def shortfall(self, v: ArrayLike) -> FloatArray:
        # ∫ F(y) dy up to v, and dy = slope·dz on each piece
        z = self.score(v)[..., None]
        below = hinge(np.minimum(z, self._edges))
        return np.asarray((self._slopes * np.diff(below, axis=-1)).sum(axis=-1))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        z = self.score(v)
        in_tail = z <= self._knots[0]
        tail = np.log(self._slopes[..., 0]) + log_hinge(z)
        with np.errstate(divide="ignore"):
            return np.where(in_tail, tail, np.log(self.shortfall(v)))

    def _pick(self, table: FloatArray, piece: np.ndarray) -> FloatArray:
        rows = np.broadcast_to(table, (*piece.shape, table.shape[-1]))
        return np.asarray(np.take_along_axis(rows, piece[..., None], axis=-1)[..., 0])

    def _moment(self, centre: FloatArray, power: int, unit: ArrayLike = 1.0) -> FloatArray:
        """Return E[((Y − centre)/unit)^power], power 1 or 2, from Y = a + b·z on each piece."""
        unit = np.asarray(unit)[..., None]
        a = (self._anchor_values - self._slopes * self._anchor_knots - centre[..., None]) / unit
        b = self._slopes / unit
        mass = np.diff(ndtr(self._edges))
        phi = density(self._edges)
        first = -np.diff(phi)  # ∫ zφ
        if power == 1:
            return np.asarray((a * mass + b * first).sum(axis=-1))
        finite_edges = np.where(np.isinf(self._edges), 0.0, self._edges)
        second = mass - np.diff(finite_edges * phi)  # ∫ z²φ
        return np.asarray((a * a * mass + 2.0 * a * b * first + b * b * second).sum(axis=-1))
