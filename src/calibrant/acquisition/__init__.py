"""Acquisition functions: how much a point is worth evaluating under a calibrated belief.

Owns: the interface of an acquisition, its implementations, and the tables from which they read a
residual.
May use: core, forecasts, models, recalibration.
Public names: below.
"""

from calibrant.acquisition.adaptive import AdaptiveBound
from calibrant.acquisition.base import Acquisition
from calibrant.acquisition.bounds import AnnealedBound, QuantileBound
from calibrant.acquisition.conformal import ConformalBound, conformal_interval
from calibrant.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibrant.acquisition.thompson import Thompson

__all__ = [
    "Acquisition",
    "AdaptiveBound",
    "AnnealedBound",
    "ConformalBound",
    "ExpectedImprovement",
    "ProbabilityOfImprovement",
    "QuantileBound",
    "Thompson",
    "conformal_interval",
]
