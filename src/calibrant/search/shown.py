"""What is known about forecasts of chosen points before a search starts.

A point is chosen for being forecast low, so its outcome tends to be worse than forecast, and the
model is over-confident there (the winner's curse). How much so depends on how many outcomes the
model knows, on the number of dimensions, on which kernel of the rotation made the forecast, on how
many evaluations were running, whose outcomes it did not know, on whether it had seen any of its
choices come out, and on how sure it was: a forecast that is nearly certain is too wide, one that is
moderately sure too narrow. That was learned once from searches on 80 tasks
(``benchmarks/peers/prior.py`` fits the numbers below and judges them on tasks that had no part in
it), so that the first intervals of a search need not wait for ten outcomes to be true.

The prior is about the default model at points that it chose. It is applied to a forecast before any
recalibration, which then learns what this search adds. The guarantee of online recalibration holds
for any forecasts made before their outcomes, and so for these; but at the rate of a search it says
nothing before 50 outcomes, and until then the prior is what makes intervals true.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.quantiles import Quantiles
from calibrant.forecasts.residual import compose


@dataclass(frozen=True)
class Circumstances:
    """What was so when the default model forecast a point that it had chosen.

    Args:
        outcomes: how many outcomes the model was fitted to.
        dim: the number of coordinates of the search.
        running: how many evaluations had no outcome yet.
        share: the std of the forecast, in the model's units, as a share of that before any outcome.
        noise: the share of that std that the model takes for noise.
        blind: whether no outcome of a point that it had chosen was known yet.
    """

    outcomes: int
    dim: int
    running: int = 0
    share: float = 0.2  # a typical one
    noise: float = 0.0
    blind: bool = False


# As far as the searches went; beyond, the last value holds.
_MOST_OUTCOMES, _MOST_DIM, _MOST_RUNNING, _LEAST_SHARE = 30, 20, 15, 1e-3

# The 10 % and the 90 % quantile of normal scores are linear in the features below, in their order:
# kernels, outcomes, dimensions and running evaluations, share of the prior std, noise, blind.
_LOW = np.array(
    [
        -1.189, -1.113, -1.038,
        0.385, 0.339, 0.138,
        0.101, -0.201, -0.123, 0.04,
        0.184, -0.839, 0.022,
        -0.896,
        0.379, 0.252,
    ]
)  # fmt: skip
_HIGH = np.array(
    [
        3.394, 3.986, 4.733,
        -0.033, -0.304, -0.569,
        -0.062, 0.727, -0.118, 0.18,
        0.306, 0.181, -2.073,
        -0.913,
        1.125, 1.728,
    ]
)  # fmt: skip

# Scores, moved and scaled so that these two quantiles are those of a standard normal, have these
# quantiles: a narrow middle and wide tails.
LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])
_SHAPE = np.array(
    [
        -2.728, -1.738, -1.28, -0.919, -0.698, -0.495, -0.296,
        -0.076, 0.206, 0.613, 1.276, 1.97, 2.961,
    ]
)  # fmt: skip
_DECILE = 1.2816  # the 90 % quantile of a standard normal
_LEAST_WIDTH = 0.2  # of the interval between the two quantiles, in scores, however sure all is


def features(known: Circumstances) -> FloatArray:
    """Return what the two quantiles are linear in.

    Which of three kernels, and the logarithm of the number of outcomes for each; the number of
    dimensions, alone and with the outcomes; running evaluations, likewise; the share of the prior
    std, with bends at a fiftieth and at a fifth; noise as a part of the std; whether the model had
    seen none of its choices come out, alone and with the dimensions.
    """
    n = np.log(min(known.outcomes, _MOST_OUTCOMES) / 12.0)
    d = np.log(min(max(known.dim, 1), _MOST_DIM) / 4.0)
    running = np.log1p(min(known.running, _MOST_RUNNING))
    share = np.clip(known.share, _LEAST_SHARE, 1.0)
    kernel = (np.arange(3) == known.outcomes % 3).astype(float)  # the rotation's turn
    bends = (np.log(share / 0.2), min(np.log(share / 0.02), 0.0), max(np.log(share / 0.2), 0.0))
    sizes = (d, n * d, running, running * n)
    return np.array(
        [*kernel, *(kernel * n), *sizes, *bends, known.noise, known.blind, known.blind * d]
    )


@lru_cache(maxsize=256)  # a search asks for the same one when it shows and when it observes
def prior_residual(known: Circumstances) -> Forecast:
    """Return the distribution of normal scores of the default model at points that it chose."""
    return residual_of(known, _LOW, _HIGH, _SHAPE)


def residual_of(
    known: Circumstances, by_low: FloatArray, by_high: FloatArray, shape: FloatArray
) -> Forecast:
    """Return that distribution by the numbers of a prior; other ones serve to judge it."""
    x = features(known)
    low, high = float(x @ by_low), float(x @ by_high)
    centre, half = 0.5 * (low + high), 0.5 * max(high - low, _LEAST_WIDTH)
    return Quantiles(LEVELS, centre + half / _DECILE * shape)


def informed(forecast: Forecast, known: Circumstances | None) -> Forecast:
    """Return the forecast of a chosen point as all earlier searches say it should be read.

    With None, which stands for another model than the default, it stays as it is.
    """
    return forecast if known is None else compose(forecast, prior_residual(known))
