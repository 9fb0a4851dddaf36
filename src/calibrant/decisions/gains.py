"""How much a search will still gain: a distribution learned across searches.

    logit P(gain ≥ g within k trials) = level + growth · log k − fine · log(1 + g/0.001)
                                              − coarse · log(1 + g/0.1)

with g in the unit of :mod:`~calibrant.decisions.progress`. The four terms depend on the features of
a search. The last three are positive, so that more trials never gain less and a larger gain is
never more likely. The numbers were learned from searches on the tasks of a benchmark, by calibrant
and sixteen other systems: ``benchmarks/decisions/learning.py`` fits them, and
``benchmarks/decisions/README.md`` judges them on tasks that had no part in it.

Draws of the minimum from a Gaussian process were tried in their place and beside them. Alone they
are less true; beside the features below they add little, and take a fit of the model at each look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.special import expit

from calibrant.core.typing import FloatArray

_WIDEST = 3.0  # standardised features are clipped: beyond, nothing was learned
GAIN_SIZES = (1e-3, 0.1)  # units, below which a gain counts as fine, and as coarse

# Of each feature: mean and std where it was learned; its part in level, growth, fine and coarse.
# fmt: off
_TABLE = {
    "(constant)": (0.000, 1.000, -1.362, 0.331, -1.630, 0.960),
    "trials": (2.910, 0.670, -0.521, -0.102, 0.224, -0.038),
    "dimensions": (1.346, 0.716, -0.031, 0.133, -0.365, 0.149),
    "since the best": (1.463, 1.085, -0.245, 0.008, -0.172, 0.038),
    "improvements": (0.315, 0.539, 0.129, -0.058, -0.062, 0.001),
    "second": (-3.426, 2.193, -0.161, -0.128, -0.469, -0.052),
    "fifth": (-1.740, 2.093, 0.150, -0.048, -0.247, -0.180),
    "lower quartile": (-1.852, 1.891, -0.025, 0.054, -0.141, -0.104),
    "median": (-0.565, 1.233, 0.087, 0.094, -0.100, -0.360),
    "latest, median": (-1.538, 2.022, 0.024, 0.031, -0.258, -0.168),
    "latest, best": (-5.237, 2.514, -0.007, 0.016, -0.189, -0.021),
    "latest, spread": (-1.343, 1.741, 0.000, 0.038, 0.005, -0.033),
    "near the best": (0.176, 0.145, -0.054, -0.080, 0.101, -0.105),
    "equal to the best": (0.076, 0.389, -0.121, -0.090, -0.359, -0.219),
    "latest, rank": (0.341, 0.148, -0.276, -0.034, 0.117, 0.061),
    "trend of ranks": (-0.397, 0.374, -0.129, -0.017, -0.107, -0.094),
    "chosen by calibrant": (0.597, 0.490, 0.355, 0.123, 0.307, -0.034),
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
    return np.asarray(trapezoid(exceedance(features, trials, _GRID), _GRID, axis=1))
