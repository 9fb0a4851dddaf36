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
# part in level, growth, fine and coarse.
# fmt: off
TABLES = {
    True: {
        "(constant)": (0.000, 1.000, -0.932, 0.298, -1.205, 1.186),
        "trials": (2.826, 0.615, -0.509, -0.193, 0.216, -0.139),
        "dimensions": (1.305, 0.695, 0.019, 0.184, -0.337, 0.205),
        "since the best": (1.203, 0.987, -0.274, -0.026, -0.245, 0.022),
        "improvements": (0.441, 0.523, 0.130, -0.007, -0.089, 0.025),
        "second": (-3.802, 2.121, -0.100, -0.009, -0.373, 0.047),
        "fifth": (-2.049, 2.151, 0.074, -0.118, -0.257, -0.045),
        "lower quartile": (-2.261, 1.863, 0.021, 0.122, -0.154, -0.084),
        "median": (-0.807, 1.250, 0.106, 0.165, -0.049, -0.442),
        "latest, median": (-2.066, 2.026, -0.012, 0.013, -0.331, -0.207),
        "latest, best": (-5.946, 1.906, 0.035, 0.005, -0.010, -0.121),
        "latest, spread": (-1.582, 1.816, 0.109, 0.061, 0.108, -0.122),
        "near the best": (0.205, 0.149, -0.018, -0.019, 0.084, -0.022),
        "equal to the best": (0.079, 0.409, -0.182, -0.095, -0.251, -0.137),
        "latest, rank": (0.308, 0.142, -0.374, -0.096, 0.110, 0.024),
        "trend of ranks": (-0.495, 0.353, -0.058, 0.038, -0.145, -0.067),
    },
    False: {
        "(constant)": (0.000, 1.000, -2.177, 0.321, -2.231, 0.786),
        "trials": (3.068, 0.731, -0.629, -0.033, 0.254, -0.008),
        "dimensions": (1.409, 0.730, -0.047, 0.121, -0.235, 0.089),
        "since the best": (1.905, 1.096, -0.218, -0.011, -0.121, -0.001),
        "improvements": (0.129, 0.494, 0.064, 0.030, 0.041, 0.025),
        "second": (-2.990, 2.191, -0.123, -0.193, -0.442, -0.122),
        "fifth": (-1.362, 1.939, 0.059, 0.002, -0.185, -0.220),
        "lower quartile": (-1.285, 1.765, -0.088, 0.033, -0.202, -0.151),
        "median": (-0.246, 1.130, -0.018, 0.135, -0.223, -0.319),
        "latest, median": (-0.813, 1.760, -0.071, 0.026, -0.155, -0.188),
        "latest, best": (-4.139, 2.914, -0.043, 0.046, -0.087, 0.019),
        "latest, spread": (-0.968, 1.512, 0.004, -0.015, -0.126, -0.033),
        "near the best": (0.134, 0.130, -0.034, -0.109, 0.184, -0.205),
        "equal to the best": (0.081, 0.383, -0.109, -0.157, -0.450, -0.185),
        "latest, rank": (0.392, 0.142, -0.168, -0.003, 0.046, 0.037),
        "trend of ranks": (-0.241, 0.348, -0.039, -0.102, 0.001, -0.096),
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
    mean, std, parts = table[1:, 0], table[1:, 1], table[:, 2:]
    standardised = np.clip((now.features - mean) / std, -_WIDEST, _WIDEST)
    raw = np.array([1.0, *standardised]) @ parts
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
