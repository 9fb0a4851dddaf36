"""The lower confidence bound, as a quantile: optimism at a stated level."""

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
    """Minus the quantile of Y at a low level: optimism that is as bold as calibration allows.

    Args:
        level: of the quantile; 0.0228 is the Gaussian mean − 2·std.
    """

    level: float = 0.0228

    def __post_init__(self) -> None:
        validate.levels_grid([self.level])

    def rule(self, residual: Forecast, best: float) -> Rule:
        # A residual may have no mass between −∞ and a level: 8.2 is as far as a PIT can see.
        score = float(np.clip(residual.at_score(ndtri(self.level)), -8.2, 8.2))
        return lambda mean, std: (
            -(mean + score * std),
            np.full_like(mean, -1.0),
            np.full_like(std, -score),
        )

    def value(self, forecast: Forecast, best: float) -> FloatArray:
        return -forecast.quantile(self.level)
