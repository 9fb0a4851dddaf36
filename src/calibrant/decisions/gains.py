"""How much a search will still gain: a distribution learned across searches.

    P(gain > g within k trials) = P(any gain within k trials) · P(it is more than g)

    logit P(any gain within k trials) = level + growth · log k
    logit P(it is more than g)        = size + widening · log k − fine · log(g/0.1)
                                                            − coarse · log(1 + g/0.1)

with g in the unit of :mod:`~calibrant.decisions.progress`. Whether anything is gained is a question
of its own: a search that refines its best point gains a little almost surely, one among a few
settings either something or nothing. The six terms depend on the features of a search. Four are
positive, so that more trials never gain less and a larger gain is never more likely. There is a
table for searches by calibrant and one for those by other samplers, which go on differently where
they look the same. The numbers were learned from searches on the tasks of a benchmark, by calibrant
and sixteen other systems: ``benchmarks/decisions/learning.py`` fits them, and
``benchmarks/decisions/README.md`` judges them on tasks that had no part in it.

Draws of the minimum from a Gaussian process were tried in their place and beside them. Alone they
are less true; beside the features below they add little, and take a fit of the model at each look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.special import log_expit

from calibrant.core.typing import FloatArray
from calibrant.decisions.progress import Progress

_WIDEST = 3.0  # standardised features are clipped: beyond, nothing was learned
GAIN_SIZE = 0.1  # units: much smaller gains are told apart by the fine term alone
TERMS = 6

# By whether calibrant chose the points. Of each feature: mean and std where it was learned; its
# part in level, growth, size, widening, fine and coarse; the part of its square, less 1, in them.
# fmt: off
TABLES = {
    True: {
        "(constant)": (0.000, 1.000, -2.05, 0.50, -1.24, -0.56, -0.12, 0.80,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.505, 0.696, -0.31, -0.19, -0.30, -0.10, -0.05, 0.08,
            0.02, 0.05, -0.00, -0.10, -0.08, 0.06),
        "dimensions": (1.635, 0.641, 0.07, 0.16, 0.10, 0.39, 0.31, 0.06,
            -0.05, -0.03, -0.12, -0.00, -0.00, 0.00),
        "since the best": (1.841, 1.239, -0.35, -0.19, -0.04, -0.01, -0.01, 0.03,
            -0.11, 0.04, -0.04, -0.02, -0.03, 0.01),
        "improvements": (0.565, 0.607, 0.11, 0.03, -0.24, -0.03, -0.07, 0.01,
            0.05, 0.03, -0.00, -0.04, 0.11, -0.03),
        "second": (-4.367, 2.023, 0.03, -0.00, 0.26, 0.00, 0.11, 0.04,
            0.02, -0.02, 0.03, -0.03, -0.06, 0.08),
        "fifth": (-2.984, 2.262, 0.02, -0.10, 0.41, 0.16, 0.15, -0.06,
            -0.01, 0.01, 0.04, 0.01, -0.16, -0.03),
        "lower quartile": (-2.305, 1.915, -0.08, -0.13, 0.23, 0.11, 0.05, 0.00,
            -0.01, -0.13, 0.07, 0.00, -0.08, -0.04),
        "median": (-0.974, 1.393, 0.24, 0.20, 0.32, 0.23, -0.13, -0.15,
            0.11, 0.11, 0.12, 0.05, -0.06, -0.10),
        "latest, median": (-2.144, 2.190, -0.20, -0.15, 0.24, 0.02, -0.08, -0.05,
            -0.06, -0.06, -0.07, 0.01, -0.03, -0.01),
        "latest, best": (-5.168, 2.428, -0.06, 0.01, 0.14, -0.01, 0.05, -0.03,
            -0.09, -0.03, 0.06, -0.05, 0.01, 0.01),
        "latest, spread": (-1.708, 2.027, 0.03, -0.00, 0.15, 0.06, -0.05, 0.02,
            -0.03, 0.00, -0.03, -0.05, 0.04, -0.02),
        "near the best": (0.181, 0.165, 0.07, 0.04, -0.20, -0.13, -0.13, -0.03,
            -0.11, -0.07, -0.03, -0.05, 0.00, -0.03),
        "equal to the best": (0.263, 0.751, -0.17, -0.12, 0.04, 0.05, 0.03, -0.01,
            -0.01, 0.10, 0.13, 0.14, 0.07, -0.03),
        "latest, rank": (0.336, 0.186, -0.10, -0.00, -0.02, -0.11, -0.13, 0.06,
            0.06, 0.11, -0.05, 0.08, 0.03, -0.02),
        "trend of ranks": (-0.460, 0.368, -0.13, -0.08, 0.16, -0.03, -0.03, 0.01,
            0.01, 0.02, -0.03, -0.09, -0.06, 0.00),
        "whole": (0.284, 0.440, -0.06, -0.07, -0.02, -0.13, -0.01, 0.09,
            -0.08, -0.10, -0.01, -0.07, -0.04, 0.05),
        "equal among the latest": (0.063, 0.173, -0.05, -0.10, 0.04, -0.01, -0.02, 0.00,
            -0.03, -0.00, 0.16, 0.02, 0.02, 0.00),
        "latest, met before": (0.094, 0.243, -0.10, -0.05, 0.02, 0.03, 0.01, 0.02,
            -0.07, 0.05, 0.02, 0.05, 0.05, 0.05),
    },
    False: {
        "(constant)": (0.000, 1.000, -2.45, 0.42, -0.05, -1.15, -0.03, 0.29,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.151, 0.754, -0.52, -0.07, -0.32, -0.07, -0.03, 0.22,
            0.02, 0.06, 0.00, -0.02, -0.05, -0.05),
        "dimensions": (1.444, 0.738, -0.02, 0.01, 0.25, 0.14, 0.18, -0.04,
            -0.04, -0.01, -0.08, -0.03, -0.08, -0.02),
        "since the best": (1.979, 1.125, -0.18, -0.01, -0.01, -0.04, 0.05, 0.03,
            0.00, -0.02, -0.04, 0.02, -0.03, 0.03),
        "improvements": (0.130, 0.499, 0.04, 0.01, -0.04, -0.02, -0.04, -0.03,
            0.05, -0.02, -0.03, 0.07, -0.12, 0.06),
        "second": (-3.014, 2.203, -0.15, -0.15, 0.19, -0.03, 0.09, -0.08,
            -0.06, -0.04, -0.09, -0.04, -0.02, -0.02),
        "fifth": (-1.425, 1.982, 0.04, 0.00, 0.32, 0.05, 0.04, -0.17,
            0.05, -0.12, -0.08, 0.04, -0.06, -0.04),
        "lower quartile": (-1.256, 1.776, -0.01, -0.06, 0.22, 0.07, 0.02, -0.13,
            -0.00, 0.00, 0.06, 0.04, -0.05, -0.06),
        "median": (-0.223, 1.125, 0.10, 0.11, 0.36, 0.15, -0.06, -0.22,
            0.02, 0.07, 0.01, 0.06, -0.05, -0.08),
        "latest, median": (-0.801, 1.782, -0.04, 0.00, 0.21, 0.04, -0.04, -0.12,
            0.03, -0.07, -0.05, 0.07, 0.05, -0.01),
        "latest, best": (-4.036, 2.940, -0.03, 0.05, 0.06, -0.03, 0.07, 0.01,
            -0.09, -0.00, 0.08, 0.04, 0.02, -0.03),
        "latest, spread": (-0.983, 1.539, 0.03, 0.00, 0.09, 0.08, 0.00, -0.05,
            -0.01, -0.00, -0.01, -0.09, 0.02, -0.00),
        "near the best": (0.130, 0.130, 0.14, 0.02, -0.17, -0.06, -0.05, 0.00,
            -0.05, -0.07, -0.06, 0.03, 0.01, -0.02),
        "equal to the best": (0.091, 0.411, 0.03, 0.03, 0.10, 0.07, 0.01, -0.03,
            0.04, 0.01, 0.12, 0.10, 0.00, -0.03),
        "latest, rank": (0.393, 0.145, -0.09, 0.02, -0.07, -0.07, 0.00, -0.00,
            0.04, 0.02, -0.01, 0.08, 0.01, 0.05),
        "trend of ranks": (-0.241, 0.347, -0.15, -0.18, -0.04, -0.04, 0.02, 0.02,
            0.11, 0.02, -0.03, 0.08, -0.01, -0.03),
        "whole": (0.228, 0.388, -0.07, -0.04, -0.09, -0.05, -0.05, -0.01,
            -0.05, 0.01, -0.02, -0.07, 0.11, 0.02),
        "equal among the latest": (0.030, 0.107, 0.05, 0.03, 0.04, 0.03, 0.01, -0.00,
            -0.07, -0.08, 0.03, 0.08, 0.03, -0.00),
        "latest, met before": (0.046, 0.170, -0.05, -0.05, -0.03, -0.03, 0.00, 0.02,
            -0.04, 0.01, -0.00, 0.01, 0.02, -0.01),
    },
}
# fmt: on


def log_trials(trials: ArrayLike) -> FloatArray:
    """Return what growth and widening are multiplied by."""
    return np.asarray(np.log(np.asarray(trials, dtype=float)))


def log_sizes(gains: ArrayLike) -> FloatArray:
    """Return what the fine and the coarse term are multiplied by, (2, gains): −inf at no gain."""
    relative = np.asarray(gains, dtype=float) / GAIN_SIZE
    with np.errstate(divide="ignore"):
        return np.stack([np.log(relative), np.log1p(relative)])


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
    raw = np.concatenate([[1.0], standardised]) @ table[:, 2 : 2 + TERMS]
    raw = raw + (standardised**2 - 1.0) @ table[1:, 2 + TERMS :]
    growth, widening, fine, coarse = np.logaddexp(0.0, raw[[1, 3, 4, 5]])
    log_k, (log_fine, log_coarse) = log_trials(trials)[:, None], log_sizes(gains)
    log_any = log_expit(raw[0] + growth * log_k)
    log_more = log_expit(raw[2] + widening * log_k - fine * log_fine - coarse * log_coarse)
    return np.asarray(np.exp(log_any + log_more))


# Gains at which the distribution is tabulated. The search would have to improve on its best by
# thirty times the spread of its outcomes to reach the last one.
_GRID = np.concatenate([[0.0], np.geomspace(1e-7, 30.0, 400)])


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
