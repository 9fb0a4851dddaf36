"""Forecasts: probability distributions of outcomes, vectorised over points.

Owns: the interface of a forecast and its implementations, the *residual* (what recalibration makes
of a standard normal score), maps of outcomes to a model's units, and forecasts as JSON.
May use: core.
Public names: below.
"""

from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Mixture, Normal
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.scipy import ScipyForecast

__all__ = ["Forecast", "Mixture", "Normal", "Quantiles", "ScipyForecast"]
