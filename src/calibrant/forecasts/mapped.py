"""Forecasts made in a model's own units, converted to the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.numeric import NumericForecast
from calibrant.forecasts.output_maps.power import MonotoneMap, PowerMap


class Mapped(NumericForecast):
    """A forecast of g(y) read as a forecast of y, for an increasing output map g.

    Scores, quantiles and probabilities are exact. Expectations are sums over some 2,000 cells of
    outcomes. Where g is bounded, quantiles beyond its bound are infinite; expectations, which might
    be infinite too, count the finite part only.
    """

    def __init__(self, forecast: Forecast, outputs: MonotoneMap) -> None:
        self.forecast, self.outputs = forecast, outputs

    def __repr__(self) -> str:
        return f"Mapped({self.forecast!r}, {self.outputs!r})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self.forecast.batch

    def __getitem__(self, index: Any) -> Mapped:
        return Mapped(self.forecast[index], self.outputs)

    def score(self, y: ArrayLike) -> FloatArray:
        return self.forecast.score(self.outputs(y))

    def at_score(self, z: ArrayLike) -> FloatArray:
        return self.outputs.inverse(self.forecast.at_score(z))

    def pdf(self, y: ArrayLike) -> FloatArray:
        return self.forecast.pdf(self.outputs(y)) * self.outputs.slope(y)


def mapped(forecast: Forecast, outputs: MonotoneMap) -> Forecast:
    """Return the forecast of y for a given forecast of g(y), in the simplest exact form."""
    if isinstance(outputs, PowerMap) and outputs.is_affine and isinstance(forecast, Normal):
        mean = outputs.inverse(forecast.mean())
        with np.errstate(over="ignore"):
            std = forecast.std() * outputs.std * outputs.unit
        if np.all(np.isfinite(mean) & np.isfinite(std) & (std > 0.0)):
            return Normal(mean, std)
    return Mapped(forecast, outputs)
