"""The paper's Theorem 1 put to the test, on streams and on what searches forecast.

Let ℓ ≥ 0 be a loss that is monotone in the outcome. Under forecasts that are calibrated online, it
is more than r times as large as expected in a share of at most 1/r + guarantee/T of T steps, on any
sequence (docs/theory.md). The loss is that of planning for the median, what an outcome lies above
it; in searches also the regret of the point that was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from benchmarks.paper.search import Record
from calibrant.core.typing import FloatArray
from calibrant.forecasts import Forecast, Normal
from calibrant.recalibration import OnlineRecalibrator

RATIOS = (4 / 3, 2.0, 5.0, 10.0)  # r; the levels 1 − 1/r are on the recalibrator's grid
RATE = 0.05  # of the online recalibrator
_STEPS = 600


class Stream(NamedTuple):
    """Forecasts and their outcomes in the order of time, and the loss of an outcome."""

    name: str
    forecast: Forecast
    y: FloatArray
    lowest: Callable[[Forecast], float]  # forecast → the outcome up to which there is no loss


class Shares(NamedTuple):
    """How often the loss was more than r times as large as expected, for each ratio r."""

    raw: FloatArray
    calibrated: FloatArray
    allowed: FloatArray  # what the theorem allows after so many steps
    calibration: FloatArray  # of the forecasts: largest |coverage − p|, raw and calibrated
    unbounded: float  # share of steps whose calibrated expectation is infinite
    finite: FloatArray  # as calibrated, over the other steps alone; NaN where there are none


def _median(forecast: Forecast) -> float:
    return float(forecast.quantile(0.5))


def streams() -> list[Stream]:
    """Return forecasts that are wrong in four ways, and right ones."""
    rng = np.random.default_rng(0)
    mean = np.sin(np.arange(_STEPS) / 20.0)
    noise = rng.standard_normal(_STEPS)
    heavy = rng.standard_t(2.0, _STEPS)
    made = {
        "std a tenth of the truth": (Normal(mean, np.full(_STEPS, 0.1)), mean + noise),
        "std a third of the truth": (Normal(mean, np.full(_STEPS, 1 / 3)), mean + noise),
        "too low by two std": (Normal(mean - 2.0, np.ones(_STEPS)), mean + noise),
        "heavy tails (t with 2 degrees)": (Normal(mean, np.ones(_STEPS)), mean + heavy),
        "right": (Normal(mean, np.ones(_STEPS)), mean + noise),
    }
    return [Stream(name, *parts, _median) for name, parts in made.items()]


def searched(name: str, records: Iterable[Record], regret: bool = False) -> Stream:
    """Return what uncalibrated searches forecast, one after the other."""
    mean, std, y = [], [], []
    for record in records:
        raw = record["forecasts"]["raw"]
        outcomes, spread = np.array(record["outcomes"]), np.array(raw["std"], dtype=float)
        mean.append(outcomes - np.array(raw["score"]) * spread)
        std.append(spread)
        y.append(outcomes)
        minimum = record["minimum"]
    forecast = Normal(np.concatenate(mean), np.concatenate(std))
    return Stream(name, forecast, np.concatenate(y), (lambda _: minimum) if regret else _median)


def shares(stream: Stream) -> Shares:
    """Return how often the loss exceeded its multiples, raw and calibrated online."""
    learning = OnlineRecalibrator(rate=RATE)
    raw, calibrated, hits, unbounded = [], [], [], []
    for t, y in enumerate(stream.y):
        forecast = stream.forecast[t]
        raw.append(_exceeded(forecast, y, stream.lowest))
        # A level played at +∞ makes the expected loss infinite, and nothing exceeds that. (What the
        # library computes instead, for acquisitions, reads such a level at 8.2 std.)
        unbounded.append(bool(np.isposinf(learning.played[-1])))
        better = _exceeded(learning.calibrate(forecast), y, stream.lowest)
        calibrated.append(0.0 * better if unbounded[-1] else better)
        hits.append(forecast.cdf(y) <= learning.levels)
        learning = learning.observe(forecast, y)
    coverage = np.mean(hits, axis=0), learning.hits / learning.count
    finite = [exceeded for exceeded, one in zip(calibrated, unbounded, strict=True) if not one]
    return Shares(
        np.mean(raw, axis=0),
        np.mean(calibrated, axis=0),
        1.0 / np.array(RATIOS) + learning.guarantee / stream.y.size,
        np.array([np.abs(found - learning.levels).max() for found in coverage]),
        float(np.mean(unbounded)),
        np.mean(finite, axis=0) if finite else np.full(len(RATIOS), np.nan),
    )


def _exceeded(forecast: Forecast, y: float, lowest: Callable[[Forecast], float]) -> FloatArray:
    # Strictly: where loss and expectation are both 0, the theorem as printed fails.
    plan = lowest(forecast)
    expected = float(forecast.mean()) - plan + float(forecast.shortfall(plan))  # E[(Y − plan)₊]
    return np.array([max(y - plan, 0.0) > ratio * expected for ratio in RATIOS], dtype=float)
