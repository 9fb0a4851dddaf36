"""What is known about forecasts of chosen points before a search starts.

A point is chosen for being forecast low, so its outcome tends to be worse than forecast, and the
model is over-confident there (the winner's curse). How much so depends on how many outcomes the
model knows, on the number of dimensions and on which kernel of the rotation made the forecast. That
was learned once, from 1,860 searches on 62 tasks (``benchmarks/peers/prior.py`` fits the numbers
below and judges them on tasks that had no part in it), so that the first intervals of a search need
not wait for ten outcomes to be true.

The prior is about the default model at points that it chose. It is applied to a forecast before any
recalibration, which then learns what this search adds. The guarantee of online recalibration holds
for any forecasts made before their outcomes, and so for these.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from calibrant.forecasts.base import Forecast
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.residual import compose

# The 10 % and the 90 % quantile of normal scores are linear in: which of three kernels (one number
# each), log(outcomes/12), log(dimensions/4), and the product of the two logarithms.
_LOW = np.array([-1.352, -1.222, -1.086, 0.1, 0.208, -0.411])
_HIGH = np.array([2.364, 2.805, 3.514, -0.608, 0.394, 0.58])
_TYPICAL_OUTCOMES, _TYPICAL_DIM = 12.0, 4.0
_MOST_OUTCOMES, _MOST_DIM = 30, 20  # as far as the searches went; beyond, the last value holds

# Scores, moved and scaled so that these two quantiles are those of a standard normal, have these
# quantiles: a narrow middle and wide tails.
_LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])
_SHAPE = np.array(
    [
        -2.534,
        -1.798,
        -1.279,
        -0.851,
        -0.61,
        -0.426,
        -0.225,
        -0.011,
        0.263,
        0.662,
        1.286,
        1.671,
        2.075,
    ]
)
_DECILE = 1.2816  # the 90 % quantile of a standard normal


@lru_cache(maxsize=256)  # a search asks for the same one when it shows and when it observes
def prior_residual(outcomes: int, dim: int) -> Forecast:
    """Return the distribution of normal scores of the default model at points that it chose.

    Args:
        outcomes: how many outcomes the model was fitted to.
        dim: the number of coordinates of the search.
    """
    n = np.log(min(outcomes, _MOST_OUTCOMES) / _TYPICAL_OUTCOMES)
    d = np.log(min(max(dim, 1), _MOST_DIM) / _TYPICAL_DIM)
    kernel = np.arange(3) == outcomes % 3  # the rotation's turn
    features = np.array([*kernel, n, d, n * d], dtype=float)
    low, high = features @ _LOW, features @ _HIGH
    centre, scale = 0.5 * (low + high), 0.5 * (high - low) / _DECILE
    return Quantiles(_LEVELS, centre + scale * _SHAPE)


def informed(forecast: Forecast, outcomes: int, dim: int) -> Forecast:
    """Return the forecast of a chosen point as all earlier searches say it should be read.

    With ``outcomes=0``, which stands for another model than the default, it stays as it is.
    """
    return compose(forecast, prior_residual(outcomes, dim)) if outcomes else forecast
