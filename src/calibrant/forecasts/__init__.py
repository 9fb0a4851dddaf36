"""Forecasts: probability distributions of outcomes, vectorised over points.

Owns: what a forecast is, the kinds of it, what recalibration makes of one (a *residual*), maps of
outcomes to a model's units, and how forecasts are kept as JSON.
May use: core.
Public names: below.
"""

from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Mixture, Normal
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.scipy import ScipyForecast

__all__ = ["Forecast", "Mixture", "Normal", "Quantiles", "ScipyForecast"]
