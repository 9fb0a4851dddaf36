"""How much a search will still gain: a distribution learned across searches.

    logit P(gain ≥ g within k trials) = level + growth · log k − fine · log(1 + g/0.001)
                                              − coarse · log(1 + g/0.1)

with g in the unit of :mod:`~calibrant.decisions.progress`. The four terms depend on the features of
a search. The last three are positive, so that more trials never gain less and a larger gain is
never more likely. There is a table for searches by calibrant and one for those by other samplers,
which go on differently where they look the same. The numbers were learned from searches on the
tasks of a benchmark, by calibrant and sixteen other systems: ``benchmarks/decisions/learning.py``
fits them, and ``benchmarks/decisions/README.md`` judges them on tasks that had no part in it.

Draws of the minimum from a Gaussian process were tried in their place and beside them. Alone they
are less true; beside the features below they add little, and take a fit of the model at each look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.special import expit

from calibrant.core.typing import FloatArray
from calibrant.decisions.progress import Progress

_WIDEST = 3.0  # standardised features are clipped: beyond, nothing was learned
GAIN_SIZES = (1e-3, 0.1)  # units, below which a gain counts as fine, and as coarse

# By whether calibrant chose the points. Of each feature: mean and std where it was learned; its
# part in level, growth, fine and coarse; the part of its square, less 1, in the same.
# fmt: off
TABLES = {
    True: {
        "(constant)": (0.000, 1.000, -1.27, 0.31, -1.45, 0.95, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.023, 0.703, -0.51, -0.07, 0.11, 0.03, -0.08, 0.06, -0.02, 0.16),
        "dimensions": (1.386, 0.701, 0.02, 0.27, -0.21, 0.17, 0.03, 0.02, 0.04, -0.01),
        "since the best": (1.412, 1.115, -0.31, -0.01, -0.25, -0.02, -0.09, 0.02, -0.03, 0.00),
        "improvements": (0.471, 0.548, 0.15, 0.03, 0.17, -0.02, 0.12, -0.01, 0.02, 0.02),
        "second": (-3.963, 2.131, 0.03, 0.01, -0.28, 0.06, -0.07, -0.03, -0.11, -0.06),
        "fifth": (-2.333, 2.253, 0.12, -0.02, -0.31, -0.07, 0.04, 0.01, 0.02, -0.14),
        "lower quartile": (-2.291, 1.925, -0.01, 0.07, -0.28, -0.04, -0.04, -0.03, -0.14, -0.15),
        "median": (-0.843, 1.307, 0.11, 0.08, -0.18, -0.15, 0.07, 0.09, 0.01, -0.16),
        "latest, median": (-2.054, 2.083, -0.08, -0.02, -0.26, -0.13, -0.04, 0.00, 0.09, -0.15),
        "latest, best": (-5.703, 2.118, 0.05, 0.05, -0.05, -0.06, -0.09, -0.08, -0.02, -0.09),
        "latest, spread": (-1.611, 1.890, 0.03, 0.05, -0.03, -0.04, -0.01, -0.01, -0.02, -0.01),
        "near the best": (0.199, 0.155, 0.12, -0.04, 0.27, 0.01, -0.12, -0.02, -0.05, -0.01),
        "equal to the best": (0.148, 0.570, -0.20, -0.16, -0.08, -0.00, -0.08, 0.04, -0.19, -0.02),
        "latest, rank": (0.320, 0.159, -0.19, -0.08, 0.02, -0.06, -0.02, 0.09, 0.07, 0.04),
        "trend of ranks": (-0.482, 0.356, -0.20, -0.03, -0.01, -0.10, 0.09, -0.01, -0.06, 0.04),
    },
    False: {
        "(constant)": (0.000, 1.000, -2.41, 0.36, -2.47, 0.64, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.224, 0.761, -0.57, -0.02, 0.12, 0.13, 0.06, 0.04, 0.10, -0.02),
        "dimensions": (1.460, 0.740, -0.01, 0.09, -0.24, 0.07, 0.05, -0.03, -0.02, -0.09),
        "since the best": (2.055, 1.136, -0.24, -0.00, -0.02, 0.04, -0.03, -0.02, 0.07, -0.03),
        "improvements": (0.134, 0.504, 0.05, 0.00, 0.11, 0.01, -0.00, 0.02, 0.05, -0.04),
        "second": (-3.048, 2.215, -0.13, -0.12, -0.24, -0.10, -0.12, -0.06, 0.06, -0.02),
        "fifth": (-1.487, 2.007, 0.05, -0.07, -0.29, -0.25, -0.02, -0.04, 0.04, -0.04),
        "lower quartile": (-1.225, 1.768, 0.00, 0.07, -0.28, -0.24, 0.03, 0.01, -0.02, -0.16),
        "median": (-0.213, 1.122, 0.05, 0.08, -0.26, -0.27, 0.00, 0.08, 0.04, -0.14),
        "latest, median": (-0.785, 1.790, -0.07, 0.02, -0.17, -0.16, 0.01, -0.03, -0.01, -0.04),
        "latest, best": (-3.920, 2.947, -0.01, 0.03, -0.12, 0.01, -0.02, -0.01, -0.09, -0.12),
        "latest, spread": (-0.998, 1.538, 0.02, -0.01, -0.06, -0.05, -0.01, -0.01, 0.01, 0.03),
        "near the best": (0.126, 0.130, 0.15, -0.02, 0.22, 0.05, -0.03, -0.08, -0.05, -0.13),
        "equal to the best": (0.105, 0.445, -0.03, -0.04, -0.17, -0.02, -0.05, 0.01, -0.32, -0.04),
        "latest, rank": (0.396, 0.147, -0.09, 0.01, -0.00, 0.04, 0.04, 0.01, -0.06, 0.04),
        "trend of ranks": (-0.236, 0.346, -0.23, -0.11, -0.10, -0.02, 0.15, 0.02, 0.06, 0.03),
    },
}
# fmt: on


def exceedance_terms(trials: ArrayLike, gains: ArrayLike) -> FloatArray:
    """Return what each of the four terms is multiplied by, (trials, gains, 4)."""
    log_k = np.log(np.asarray(trials, dtype=float))[:, None]
    fine, coarse = (-np.log1p(np.asarray(gains, dtype=float) / size) for size in GAIN_SIZES)
    level = np.ones(np.broadcast_shapes(log_k.shape, fine.shape))
    return np.stack(np.broadcast_arrays(level, log_k, fine, coarse), axis=-1)


def exceedance(
    now: Progress, trials: ArrayLike, gains: ArrayLike, table: FloatArray | None = None
) -> FloatArray:
    """Return the probabilities that a search gains more than ``gains``, (trials, gains).

    Args:
        now: where the search stands.
        trials: within how many more trials.
        gains: in units; more than 0 is any improvement.
        table: another one than what was learned of such searches, as ``TABLES`` holds them.
    """
    if table is None:
        table = np.array(list(TABLES[now.chosen].values()))
    mean, std = table[1:, 0], table[1:, 1]
    standardised = np.clip((now.features - mean) / std, -_WIDEST, _WIDEST)
    raw = np.concatenate([[1.0], standardised]) @ table[:, 2:6]
    raw = raw + (standardised**2 - 1.0) @ table[1:, 6:]
    terms = np.array([raw[0], *np.logaddexp(0.0, raw[1:])])
    return np.asarray(expit(exceedance_terms(trials, gains) @ terms))


# Gains at which the distribution is tabulated. The search would have to improve on its best by
# thirty times the spread of its outcomes to reach the last one.
_GRID = np.concatenate([[0.0], np.geomspace(1e-4, 30.0, 240)])


def gain_quantiles(now: Progress, trials: ArrayLike, levels: ArrayLike) -> FloatArray:
    """Return the gains, in units, that are reached with probabilities of 1 − levels.

    Shape (trials, levels): 0 where no improvement at all is more likely than the level.
    """
    above = exceedance(now, trials, _GRID)
    wanted = 1.0 - np.asarray(levels, dtype=float)
    # np.interp wants an increasing axis; beyond either end it stays at that end.
    return np.array([np.interp(wanted, row[::-1], _GRID[::-1]) for row in above])


def expected_gains(now: Progress, trials: ArrayLike) -> FloatArray:
    """Return the expected gain within each number of trials, in units."""
    return np.asarray(trapezoid(exceedance(now, trials, _GRID), _GRID, axis=1))
