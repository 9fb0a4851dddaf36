"""The lower confidence bound (LCB), as a calibrated quantile: at one level, or annealed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from calibrant.acquisition.base import Acquisition, Belief, Criterion, Pointwise, Rule
from calibrant.core import validate
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


@dataclass(frozen=True)
class QuantileBound(Pointwise):
    """The lower confidence bound (LCB): minus the quantile of Y at a low level.

    The level is a probability, so recalibration decides how many stds below the mean it lies.

    Args:
        level: of the quantile; 0.0228 is mean − 2·std of a Gaussian.
    """

    level: float = 0.0228

    def __post_init__(self) -> None:
        validate.levels_grid([self.level])

    def rule(self, residual: Forecast, best: float) -> Rule:
        # A residual may put a level at ±∞; 8.2 is the largest score that a PIT can resolve.
        score = float(np.clip(residual.at_score(ndtri(self.level)), -8.2, 8.2))
        return lambda mean, std: (
            -(mean + score * std),
            np.full_like(mean, -1.0),
            np.full_like(std, -score),
        )

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return -forecast.quantile(self.level)


@dataclass(frozen=True)
class AnnealedBound(Acquisition):
    """The lower confidence bound with a level that rises from exploring to exploiting.

    After n outcomes, in normal scores,

        score(level) = score(last) + (score(first) − score(last))·2^(−n/half_life).

    By default the bound is mean − 3·std of a Gaussian before any outcome, about mean − 1.75·std
    after ten, and approaches mean − 0.5·std. A level is a probability, so recalibration keeps the
    schedule's meaning where the model's std is wrong (the paper's Appendix C).

    Args:
        first: the level before any outcome.
        last: the level that is approached.
        half_life: outcomes after which half of the way is gone.
    """

    first: float = 0.00135
    last: float = 0.3085
    half_life: float = 10.0

    def __post_init__(self) -> None:
        for level in (self.first, self.last):
            validate.levels_grid([level])
        validate.positive("half_life", self.half_life)

    def level(self, outcomes: int) -> float:
        """Return the level of the bound after so many outcomes."""
        start, end = ndtri([self.first, self.last])
        return float(ndtr(end + (start - end) * 0.5 ** (outcomes / self.half_life)))

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        return QuantileBound(self.level(belief.outcomes)).criterion(belief, rng, cube)
