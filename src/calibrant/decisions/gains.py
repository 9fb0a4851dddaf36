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
        "(constant)": (0.000, 1.000, -0.897, 0.285, -1.146, 1.181),
        "trials": (2.823, 0.612, -0.519, -0.164, 0.207, -0.142),
        "dimensions": (1.301, 0.696, 0.041, 0.201, -0.260, 0.192),
        "since the best": (1.197, 0.982, -0.293, 0.003, -0.246, 0.021),
        "improvements": (0.441, 0.525, 0.134, -0.002, -0.084, -0.005),
        "second": (-3.779, 2.138, -0.055, -0.028, -0.329, 0.064),
        "fifth": (-2.043, 2.158, 0.079, -0.110, -0.310, -0.113),
        "lower quartile": (-2.244, 1.864, -0.014, 0.135, -0.116, -0.064),
        "median": (-0.800, 1.261, 0.088, 0.180, -0.076, -0.408),
        "latest, median": (-2.051, 2.043, 0.024, 0.106, -0.276, -0.224),
        "latest, best": (-5.953, 1.900, 0.025, -0.021, -0.074, -0.115),
        "latest, spread": (-1.606, 1.837, 0.063, 0.007, 0.018, -0.108),
        "near the best": (0.205, 0.149, -0.010, 0.027, 0.126, 0.002),
        "equal to the best": (0.079, 0.402, -0.267, -0.053, -0.228, -0.113),
        "latest, rank": (0.308, 0.142, -0.393, -0.126, 0.097, -0.016),
        "trend of ranks": (-0.498, 0.353, -0.044, 0.065, -0.056, -0.087),
    },
    False: {
        "(constant)": (0.000, 1.000, -2.165, 0.331, -2.164, 0.727),
        "trials": (3.069, 0.732, -0.549, -0.051, 0.302, -0.003),
        "dimensions": (1.414, 0.739, -0.029, 0.098, -0.324, 0.087),
        "since the best": (1.904, 1.104, -0.210, -0.005, -0.186, 0.030),
        "improvements": (0.127, 0.496, 0.065, 0.004, 0.088, 0.021),
        "second": (-2.969, 2.191, -0.170, -0.123, -0.435, -0.065),
        "fifth": (-1.357, 1.940, 0.134, -0.051, -0.339, -0.225),
        "lower quartile": (-1.281, 1.768, -0.037, -0.008, -0.144, -0.155),
        "median": (-0.231, 1.109, 0.060, 0.054, -0.304, -0.329),
        "latest, median": (-0.805, 1.770, -0.071, 0.073, -0.103, -0.188),
        "latest, best": (-4.143, 2.908, -0.042, 0.071, -0.231, 0.061),
        "latest, spread": (-0.975, 1.537, 0.007, 0.005, -0.009, -0.067),
        "near the best": (0.133, 0.129, 0.025, -0.098, 0.093, -0.080),
        "equal to the best": (0.082, 0.382, -0.181, -0.061, -0.281, -0.162),
        "latest, rank": (0.392, 0.144, -0.189, -0.035, 0.033, 0.046),
        "trend of ranks": (-0.243, 0.351, -0.137, -0.038, 0.112, -0.091),
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
