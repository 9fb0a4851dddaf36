"""Plotly figures of what forecasts were worth and of what is believed; a function each.

They take plain arrays. Of a study, `calibrant.outlook`, `calibrant.slices` and `calibrant.contour`
have a `figure` method that fills them in.
"""

from calibrant.evaluation.figures.calibration import (
    coverage_over_time,
    pit_histogram,
    promises,
    reliability,
)
from calibrant.evaluation.figures.frame import PALETTE
from calibrant.evaluation.figures.outcomes import convergence, fan, intervals, ribbon
from calibrant.evaluation.figures.settings import contour, slices

__all__ = [
    "PALETTE",
    "contour",
    "convergence",
    "coverage_over_time",
    "fan",
    "intervals",
    "pit_histogram",
    "promises",
    "reliability",
    "ribbon",
    "slices",
]
