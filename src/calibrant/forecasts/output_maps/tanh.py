"""The tanh map of warped Gaussian processes (Snelson et al. 2003): a line plus smooth steps.

    g(y) = (r(t) − mean)/std,    t = (y − centre)/unit,
    r(t) = t + Σ heights·tanh(slopes·(t + shifts))

It increases as long as heights and slopes are positive. Snelson's factor of the linear term is left
out, because standardisation fixes the overall scale: only the steps' heights relative to the line
matter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap

_FURTHEST = 1e100  # values are clipped to this many units, so that nothing overflows


@dataclass(frozen=True)
class TanhMap(MonotoneMap):
    """The output map of a warped GP (Snelson et al. 2003): a line plus smooth steps.

    Args:
        heights, slopes: one per step; heights at least 0, slopes positive.
        shifts: minus the positions of the steps, in units; one per step.
        centre, unit: subtracted from an outcome, and dividing it, before the steps.
        mean, std: of the outcomes after the steps; they standardise the result.
    """

    heights: tuple[float, ...]
    slopes: tuple[float, ...]
    shifts: tuple[float, ...]
    centre: float = 0.0
    unit: float = 1.0
    mean: float = 0.0
    std: float = 1.0

    @classmethod
    def of(
        cls, heights: ArrayLike, slopes: ArrayLike, shifts: ArrayLike, *, centre: float, unit: float
    ) -> TanhMap:
        """Return the map whose steps are given as arrays."""
        heights, slopes, shifts = (
            tuple(np.asarray(part).tolist()) for part in (heights, slopes, shifts)
        )
        return cls(heights, slopes, shifts, centre, unit)

    def __post_init__(self) -> None:
        for name in ("heights", "slopes", "shifts"):  # JSON returns them as lists
            object.__setattr__(self, name, tuple(float(v) for v in getattr(self, name)))
        if not len(self.heights) == len(self.slopes) == len(self.shifts):
            raise ValueError(
                "`heights`, `slopes` and `shifts` must have the same length, one value per step."
            )
        validate.positive("slopes", self.slopes)
        validate.not_negative("heights", self.heights)
        validate.finite("shifts", self.shifts)
        validate.positive("unit", self.unit)
        validate.positive("std", self.std)

    def __call__(self, y: ArrayLike) -> FloatArray:
        return np.asarray((self._risen(self._inner(y)) - self.mean) / self.std)

    def slope(self, y: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # the inverse of a tiny unit may overflow
            slope = self._bent(self._inner(y)) / self.unit / self.std
        return np.asarray(np.minimum(slope, np.finfo(float).max))

    def inverse(self, v: ArrayLike) -> FloatArray:
        goal = np.clip(np.asarray(v, dtype=float), -_FURTHEST, _FURTHEST) * self.std + self.mean
        reach = sum(self.heights)
        low, high = goal - reach, goal + reach  # the steps add at most the sum of their heights
        t, active = goal, np.ones(goal.shape, dtype=bool)
        for step in range(200):
            risen = self._risen(t)
            low, high = np.where(risen < goal, t, low), np.where(risen > goal, t, high)
            newton = t - (risen - goal) / self._bent(t)
            settled = np.abs(newton - t) <= 1e-13 * np.maximum(1.0, np.abs(t))
            # Newton's method may cycle around a sharp bend; bisection, every third step, does not.
            inside = settled | ((low < newton) & (newton < high) & (step % 3 > 0))
            # Each stops by itself: the same to the last bit whatever is inverted with it.
            t = np.where(active, np.where(inside, newton, 0.5 * (low + high)), t)
            active &= ~settled
            if not active.any():
                break
        with np.errstate(over="ignore"):
            # Computed on halves, because the difference of two large floats may overflow.
            y = (t * (self.unit / 2.0) + self.centre / 2.0) * 2.0
        return np.where(np.isinf(v), v, y)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _inner(self, y: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            t = (validate.as_floats("y", y) / 2.0 - self.centre / 2.0) / self.unit * 2.0
        return np.clip(t, -_FURTHEST, _FURTHEST)

    def _risen(self, t: FloatArray) -> FloatArray:
        """Return r(t); as a sum, because BLAS adds in an order that depends on how many t are."""
        return np.asarray(t + (self._steps(t) * np.array(self.heights)).sum(axis=-1))

    def _bent(self, t: FloatArray) -> FloatArray:
        """Return r′(t)."""
        flat = 1.0 - self._steps(t) ** 2
        return np.asarray(1.0 + (flat * np.multiply(self.heights, self.slopes)).sum(axis=-1))

    def _steps(self, t: FloatArray) -> FloatArray:
        return np.asarray(np.tanh(np.multiply(self.slopes, t[..., None] + np.array(self.shifts))))
