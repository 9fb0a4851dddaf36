"""Calibrated Bayesian optimisation: the sampler, when to stop, and whether to trust it."""

from calibrant import CalibratedPruner, CalibratedSampler, StopWhen, report, review

from .reliability import plot_reliability

__all__ = [
    "CalibratedPruner",
    "CalibratedSampler",
    "StopWhen",
    "plot_reliability",
    "report",
    "review",
]
