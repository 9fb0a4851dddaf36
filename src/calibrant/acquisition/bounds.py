"""The lower confidence bound (LCB), as a calibrated quantile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from calibrant.acquisition.base import Pointwise, Rule
from calibrant.core import validate
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
