"""Acquisitions: how much a point is worth evaluating, according to a calibrated belief.

Owns: what an acquisition is, the kinds of it, and the tables through which they read a residual.
May use: core, forecasts, models, recalibration.
Public names: below.
"""

from calibrant.acquisition.adaptive import AdaptiveBound
from calibrant.acquisition.base import Acquisition
from calibrant.acquisition.bounds import QuantileBound
from calibrant.acquisition.conformal import ConformalBound, conformal_interval
from calibrant.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibrant.acquisition.thompson import Thompson

__all__ = [
    "Acquisition",
    "AdaptiveBound",
    "ConformalBound",
    "ExpectedImprovement",
    "ProbabilityOfImprovement",
    "QuantileBound",
    "Thompson",
    "conformal_interval",
]
