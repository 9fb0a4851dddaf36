"""The paper's Theorem 1 put to the test, on streams.

Under calibrated forecasts a loss that is never negative and monotone in the outcome is at least r
times as large as expected in a share of at most 1/r of all steps, in the long run. The loss here is
that of planning for the median: what an outcome lies above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.paper.metrics import RATIOS
from calibrant.core.typing import FloatArray
from calibrant.forecasts import Forecast, Normal
from calibrant.recalibration import OnlineRecalibrator, Recalibrator

_STEPS = 600
RATE = 0.05  # of the online recalibrator


class Stream(NamedTuple):
    """Forecasts and their outcomes, in the order of time."""

    name: str
    forecast: Forecast
    y: FloatArray


class Shares(NamedTuple):
    """How often the loss was at least r times as large as expected, for each ratio r.

    The last entry is the share of steps whose expectation was infinite: these cannot be exceeded.
    """

    raw: FloatArray
    calibrated: FloatArray


def streams() -> list[Stream]:
    """Return forecasts that are wrong in four ways."""
    rng = np.random.default_rng(0)
    mean = np.sin(np.arange(_STEPS) / 20.0)
    noise = rng.standard_normal(_STEPS)
    heavy = rng.standard_t(2.0, _STEPS)
    return [
        Stream("std a tenth of the truth", Normal(mean, np.full(_STEPS, 0.1)), mean + noise),
        Stream("std a third of the truth", Normal(mean, np.full(_STEPS, 1 / 3)), mean + noise),
        Stream("too low by two std", Normal(mean - 2.0, np.ones(_STEPS)), mean + noise),
        Stream("heavy tails (t with 2 degrees)", Normal(mean, np.ones(_STEPS)), mean + heavy),
        Stream("right", Normal(mean, np.ones(_STEPS)), mean + noise),
    ]


def shares(stream: Stream, recalibrator: Recalibrator | None = None) -> Shares:
    """Return how often the loss exceeded its multiples, raw and calibrated online."""
    learning = OnlineRecalibrator(rate=RATE) if recalibrator is None else recalibrator
    raw, calibrated = [], []
    for t, y in enumerate(stream.y):
        forecast = stream.forecast[t]
        raw.append(_exceeded(forecast, y))
        better = learning.calibrate(forecast)
        calibrated.append(_exceeded(better, y))
        learning = learning.update_scores(forecast.score([y]))
    return Shares(np.mean(raw, axis=0), np.mean(calibrated, axis=0))


def _exceeded(forecast: Forecast, y: float) -> FloatArray:
    plan = float(forecast.quantile(0.5))
    expected = float(forecast.mean()) - plan + float(forecast.shortfall(plan))
    if not np.isfinite(expected):
        return np.array([*[0.0] * len(RATIOS), 1.0])
    loss = max(y - plan, 0.0)
    return np.array([*(loss >= ratio * expected for ratio in RATIOS), 0.0], dtype=float)
