"""A worked stream on real data: weekly CO₂ at Mauna Loa, 1958–2001.

An autoregression is fitted once, to the first ten years, and then used for 34 more without being
touched: the usual life of a forecasting model. The world drifts away from it (CO₂ grows faster
and faster), and its Gaussian intervals stop holding what they promise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.forecast import Normal
from calibrant.gaussian import FloatArray

_LAGS = (1, 2, 52, 53)  # the last two weeks, and the same two weeks a year ago
_TRAINING_WEEKS = 520


@dataclass(frozen=True)
class Stream:
    """Forecasts made before their outcomes, with the times at which they came due."""

    name: str
    times: np.ndarray
    forecast: Normal
    y: FloatArray


def co2_stream() -> Stream:
    """Load the series that ships with statsmodels and forecast it one week ahead."""
    try:
        from statsmodels.datasets import co2
    except ImportError as error:
        raise ImportError(
            "The demo's data ships with statsmodels: pip install 'calibrant[demo]'."
        ) from error
    series = co2.load_pandas().data["co2"].interpolate()
    forecast, y = autoregression(series.to_numpy(dtype=float), _LAGS, _TRAINING_WEEKS)
    return Stream("Weekly CO₂ at Mauna Loa", series.index.to_numpy()[_TRAINING_WEEKS:], forecast, y)


def autoregression(
    series: FloatArray, lags: tuple[int, ...], training: int
) -> tuple[Normal, FloatArray]:
    """Fit y_t = a + Σ b_l·y_{t−l} to the first values; forecast the others one step ahead."""

    def design(times: np.ndarray) -> FloatArray:
        return np.column_stack([np.ones(times.size), *(series[times - lag] for lag in lags)])

    past = np.arange(max(lags), training)
    coefficients = np.linalg.lstsq(design(past), series[past], rcond=None)[0]
    std = np.std(series[past] - design(past) @ coefficients)
    future = np.arange(training, series.size)
    return Normal(design(future) @ coefficients, np.full(future.size, std)), series[future]
