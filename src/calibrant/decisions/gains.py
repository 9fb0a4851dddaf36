"""How much a search will still gain: a distribution learned across searches.

    logit P(gain ≥ g within k trials) = level + growth · log k − fine · log(1 + g/0.001)
                                              − coarse · log(1 + g/0.1)

with g in the unit of :mod:`~calibrant.decisions.progress`. The four terms depend on the features of
a search. The last three are positive, so that more trials never gain less and a larger gain is
never more likely. The numbers were learned from searches on the tasks of a benchmark, by calibrant
and seventeen other systems: ``benchmarks/decisions/learning.py`` fits them, and
``benchmarks/decisions/README.md`` judges them on tasks that had no part in it.

Draws of the minimum from a Gaussian process were tried in their place and beside them. Alone they
are less true; beside the features below they add little, and take a fit of the model at each look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from calibrant.core.typing import FloatArray

_WIDEST = 3.0  # standardised features are clipped: beyond, nothing was learned
GAIN_SIZES = (1e-3, 0.1)  # units, below which a gain counts as fine, and as coarse

# Of each feature: mean and std where it was learned; its part in level, growth, fine and coarse.
# fmt: off
_TABLE = {
    "(constant)": (0.000, 1.000, -1.203, 0.299, -1.483, 0.938),
    "trials": (2.866, 0.652, -0.564, -0.188, 0.176, -0.075),
    "dimensions": (1.316, 0.717, 0.004, 0.160, -0.303, 0.138),
    "since the best": (1.386, 1.049, -0.322, -0.013, -0.249, 0.009),
    "improvements": (0.343, 0.534, 0.161, -0.022, -0.070, 0.066),
    "second": (-3.456, 2.205, -0.167, -0.069, -0.430, -0.006),
    "fifth": (-1.752, 2.117, 0.102, -0.087, -0.312, -0.146),
    "lower quartile": (-1.915, 1.911, -0.024, 0.061, -0.133, -0.092),
    "median": (-0.595, 1.257, 0.050, 0.103, -0.142, -0.405),
    "latest, median": (-1.618, 2.047, -0.020, 0.002, -0.363, -0.185),
    "latest, best": (-5.398, 2.423, 0.006, 0.022, -0.175, -0.050),
    "latest, spread": (-1.391, 1.771, 0.009, 0.027, 0.033, -0.056),
    "near the best": (0.183, 0.146, -0.131, -0.069, 0.041, -0.055),
    "equal to the best": (0.070, 0.375, -0.161, -0.084, -0.282, -0.142),
    "latest, rank": (0.335, 0.147, -0.419, -0.055, 0.057, 0.002),
}
# fmt: on


def exceedance_terms(trials: ArrayLike, gains: ArrayLike) -> FloatArray:
    """Return what each of the four terms is multiplied by, (trials, gains, 4)."""
    log_k = np.log(np.asarray(trials, dtype=float))[:, None]
    fine, coarse = (-np.log1p(np.asarray(gains, dtype=float) / size) for size in GAIN_SIZES)
    level = np.ones(np.broadcast_shapes(log_k.shape, fine.shape))
    return np.stack(np.broadcast_arrays(level, log_k, fine, coarse), axis=-1)


def exceedance(
    features: FloatArray, trials: ArrayLike, gains: ArrayLike, table: FloatArray | None = None
) -> FloatArray:
    """Return the probabilities that a search gains more than ``gains``, (trials, gains).

    Args:
        features: where the search stands.
        trials: within how many more trials.
        gains: in units; more than 0 is any improvement.
        table: another one than what was learned, as ``_TABLE``.
    """
    table = np.array(list(_TABLE.values())) if table is None else table
    mean, std, parts = table[1:, 0], table[1:, 1], table[:, 2:]
    standardised = np.clip((features - mean) / std, -_WIDEST, _WIDEST)
    raw = np.array([1.0, *standardised]) @ parts
    terms = np.array([raw[0], *np.logaddexp(0.0, raw[1:])])
    return np.asarray(expit(exceedance_terms(trials, gains) @ terms))


# Gains at which the distribution is tabulated. The search would have to improve on its best by
# thirty times the spread of its outcomes to reach the last one.
_GRID = np.concatenate([[0.0], np.geomspace(1e-4, 30.0, 240)])


def gain_quantiles(features: FloatArray, trials: ArrayLike, levels: ArrayLike) -> FloatArray:
    """Return the gains, in units, that are reached with probabilities of 1 − levels.

    Shape (trials, levels): 0 where no improvement at all is more likely than the level.
    """
    above = exceedance(features, trials, _GRID)
    wanted = 1.0 - np.asarray(levels, dtype=float)
    # np.interp wants an increasing axis; beyond either end it stays at that end.
    return np.array([np.interp(wanted, row[::-1], _GRID[::-1]) for row in above])


def expected_gains(features: FloatArray, trials: ArrayLike) -> FloatArray:
    """Return the expected gain within each number of trials, in units."""
    return np.asarray(np.trapezoid(exceedance(features, trials, _GRID), _GRID, axis=1))
