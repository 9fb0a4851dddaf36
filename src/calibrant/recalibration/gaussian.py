"""Gaussian recalibration: a shift and a scale of scores, so Gaussian forecasts stay Gaussian."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.normal import SCORE_LIMIT
from calibrant.forecasts.normal import Normal
from calibrant.recalibration.base import ScoreRecalibrator, as_scores


@dataclass(frozen=True, repr=False)
class GaussianRecalibrator(ScoreRecalibrator):
    """Recalibrates location and scale: a calibrated Gaussian forecast stays Gaussian.

    Normal scores are taken to be N(a, b²), with a and b fitted to past scores by their moments.

    Mean and variance are those of the observed scores together with ``strength``
    pseudo-observations from a standard normal: the identity without data, the sample moments with
    much data. They are also the first two moments of the leader of the same strength before its
    smoothing.

    Args:
        strength: how many pseudo-observations of a calibrated model the prior is worth.
        limit: scores are clipped to ±limit. Without a limit (``inf``), one badly over-confident
            forecast would widen the intervals of hundreds of others.
    """

    strength: float = 10.0
    limit: float = 10.0
    count: int = 0
    total: float = 0.0  # Σ z
    squares: float = 0.0  # Σ z²

    def __post_init__(self) -> None:
        validate.positive("strength", self.strength)
        if not self.limit > 0.0:
            raise ValueError(f"`limit > 0` must hold, but got limit={self.limit}.")
        validate.finite("total", self.total)
        if self.count < 0 or not self.squares * max(self.count, 1) >= self.total**2 * (1 - 1e-9):
            raise ValueError("No scores have this `count`, `total` (Σ z) and `squares` (Σ z²).")

    def __repr__(self) -> str:
        settings = f"strength={self.strength:g}, limit={self.limit:g}"
        return f"GaussianRecalibrator({settings}, count={self.count})"

    @property
    def residual(self) -> Normal:
        weight = self.strength + self.count
        mean = self.total / weight
        variance = (self.strength + self.squares) / weight - mean * mean
        return Normal(mean, np.sqrt(variance))

    def update_scores(self, z: ArrayLike) -> Self:
        z = np.clip(as_scores(z), -self.limit, self.limit)
        return replace(
            self,
            count=self.count + z.size,
            total=self.total + float(z.sum()),
            squares=self.squares + float((z * z).sum()),
        )

    def one_by_one(self, z: ArrayLike) -> tuple[Normal, Self]:
        """Return the residuals as they stood before each score, and the recalibrator after all.

        They are those of as many single updates, to the last bit.
        """
        z = np.clip(as_scores(z), -self.limit, self.limit)
        counts = self.count + np.arange(z.size + 1)
        totals = np.cumsum(np.concatenate([[self.total], z]))  # cumulative sums add in order
        squares = np.cumsum(np.concatenate([[self.squares], z * z]))
        weights = self.strength + counts[:-1]
        means = totals[:-1] / weights
        variances = (self.strength + squares[:-1]) / weights - means * means
        after = replace(
            self, count=int(counts[-1]), total=float(totals[-1]), squares=float(squares[-1])
        )
        return Normal(means, np.sqrt(variances)), after

    def update_symmetric(self, z: ArrayLike) -> Self:
        learned = self.update_scores(z)
        return replace(learned, total=self.total)

    def to_dict(self) -> dict[str, Any]:
        limit = min(self.limit, SCORE_LIMIT)  # JSON has no infinity, and no score exceeds this
        return {"kind": "gaussian", **asdict(self), "limit": limit}
