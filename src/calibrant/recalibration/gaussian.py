"""Location and scale: the recalibrator under which a Gaussian forecast stays Gaussian."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from calibrant.core import validate
from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.normal import Normal
from calibrant.recalibration.base import Recalibrator, as_scores, scores_of_pits


@dataclass(frozen=True, repr=False)
class GaussianRecalibrator(Recalibrator):
    """Shift and stretch the scores: Z ~ N(a, b²) with a, b² the moments of what was seen.

    Mean and variance are those of ``strength`` imagined standard normal scores together with the
    observed ones: with no data the identity, with much data the sample moments. These are the
    first two moments of the leader with the same strength.

    Args:
        strength: how many calibrated outcomes the trust in the model is worth.
        limit: scores further from 0 than this count as this far. Without a limit (``inf``) a single
            forecast that was far too sure would widen the intervals of hundreds of others.
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

    def __call__(self, p: ArrayLike) -> FloatArray:
        return np.asarray(ndtr(self.residual.at_score(ndtri(validate.probabilities("p", p)))))

    def inverse(self, u: ArrayLike) -> FloatArray:
        return np.asarray(ndtr(self.residual.score(ndtri(validate.probabilities("u", u)))))

    def update_many(self, us: ArrayLike) -> Self:
        return self.update_scores(scores_of_pits(us))

    def update_scores(self, z: ArrayLike) -> Self:
        z = np.clip(as_scores(z), -self.limit, self.limit)
        return replace(
            self,
            count=self.count + z.size,
            total=self.total + float(z.sum()),
            squares=self.squares + float((z * z).sum()),
        )

    def to_dict(self) -> dict[str, Any]:
        limit = min(self.limit, SCORE_LIMIT)  # JSON has no infinity, and no score is larger
        return {"kind": "gaussian", **asdict(self), "limit": limit}
