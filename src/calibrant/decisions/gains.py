"""How much a search will still gain: a distribution learned across searches.

    P(gain > g within k trials) = P(any gain within k trials) · P(it is more than g)

    logit P(any gain within k trials) = level + growth · log k
    logit P(it is more than g)        = size + widening · log k − fine · log(g/0.1)
                                                            − coarse · log(1 + g/0.1)

with g in the unit of :mod:`~calibrant.decisions.progress`. The fit goes to gains of one unit.
Beyond three it stated too much, so that the probability also falls with the root of g there.
Whether anything is gained is a question of its own: a search that refines its best point gains a
little almost surely, one among a few settings either something or nothing. The six terms depend on
the features of a search. Four are positive, so that more trials never gain less and a larger gain
is never more likely. There is a table for searches by calibrant and one for those by other
samplers, which go on differently where they look the same. The numbers were learned from searches
on the tasks of a benchmark, by calibrant and sixteen other systems:
``benchmarks/decisions/learning.py`` fits them, and ``benchmarks/decisions/README.md`` judges them
on tasks that had no part in it.

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
FAR = 3.0  # units: of larger gains the fit, which goes to one unit, states too much
TERMS = 6

# By whether calibrant chose the points. Of each feature: mean and std where it was learned; its
# part in level, growth, size, widening, fine and coarse; the part of its square, less 1, in them.
# fmt: off
TABLES = {
    True: {
        "(constant)": (0.000, 1.000, -2.07, 0.58, -1.67, -0.51, -0.02, 0.73,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.643, 0.707, -0.46, -0.28, -0.28, -0.08, 0.00, 0.07,
            -0.02, 0.09, 0.09, -0.09, -0.05, 0.06),
        "dimensions": (1.648, 0.667, 0.07, 0.19, 0.18, 0.39, 0.26, 0.03,
            -0.00, -0.02, -0.08, -0.03, 0.04, 0.02),
        "since the best": (1.870, 1.285, -0.28, -0.05, 0.05, 0.01, 0.02, 0.02,
            -0.06, 0.15, -0.05, -0.01, -0.03, 0.00),
        "improvements": (0.666, 0.615, 0.12, 0.11, -0.26, -0.04, -0.07, 0.01,
            0.10, 0.03, -0.08, 0.02, 0.07, -0.02),
        "second": (-4.506, 2.019, -0.08, -0.06, 0.21, -0.05, 0.10, 0.02,
            -0.01, -0.03, 0.03, -0.05, -0.11, 0.04),
        "fifth": (-3.190, 2.284, -0.02, -0.12, 0.43, 0.16, 0.18, -0.07,
            0.01, -0.03, 0.02, -0.00, -0.17, 0.00),
        "lower quartile": (-2.394, 1.961, -0.02, -0.04, 0.24, 0.11, 0.08, -0.01,
            -0.04, -0.03, 0.13, 0.03, -0.10, -0.03),
        "median": (-1.051, 1.440, 0.17, 0.15, 0.31, 0.22, -0.10, -0.12,
            0.11, 0.09, 0.08, 0.06, -0.07, -0.06),
        "latest, median": (-2.316, 2.292, -0.12, -0.11, 0.29, 0.06, -0.01, -0.03,
            -0.08, -0.06, -0.08, -0.03, -0.03, 0.01),
        "latest, best": (-5.161, 2.460, -0.12, 0.04, 0.09, -0.01, 0.01, -0.01,
            -0.13, 0.03, 0.02, -0.07, -0.03, 0.01),
        "latest, spread": (-1.846, 2.124, 0.04, 0.04, 0.12, 0.03, -0.12, 0.01,
            0.01, -0.00, -0.11, -0.01, 0.02, -0.04),
        "near the best": (0.188, 0.172, 0.03, 0.05, -0.26, -0.15, -0.13, 0.02,
            -0.13, -0.10, 0.00, -0.03, 0.05, -0.02),
        "equal to the best": (0.257, 0.761, -0.18, -0.15, 0.07, 0.04, 0.01, -0.00,
            -0.09, 0.05, 0.13, 0.10, 0.03, -0.01),
        "latest, rank": (0.331, 0.194, -0.22, -0.08, -0.01, -0.12, -0.10, 0.06,
            0.05, 0.06, -0.01, 0.05, 0.08, -0.03),
        "trend of ranks": (-0.474, 0.372, -0.10, -0.06, 0.19, -0.02, 0.02, -0.01,
            0.03, 0.04, -0.07, 0.01, -0.00, -0.01),
        "whole": (0.244, 0.415, -0.09, -0.10, -0.02, -0.13, -0.03, 0.07,
            -0.06, -0.04, 0.04, -0.07, -0.03, 0.04),
        "equal among the latest": (0.060, 0.167, -0.04, -0.08, 0.06, 0.02, -0.03, 0.00,
            -0.01, -0.02, 0.11, 0.02, -0.00, 0.02),
        "latest, met before": (0.095, 0.242, -0.07, -0.05, 0.05, 0.05, -0.03, -0.01,
            0.01, 0.06, 0.06, 0.00, 0.00, 0.02),
    },
    False: {
        "(constant)": (0.000, 1.000, -2.46, 0.44, -0.12, -1.13, -0.01, 0.22,
            0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
        "trials": (3.160, 0.755, -0.54, -0.09, -0.33, -0.08, -0.01, 0.21,
            0.07, 0.01, 0.04, -0.05, -0.06, -0.02),
        "dimensions": (1.448, 0.733, -0.09, 0.06, 0.25, 0.11, 0.21, -0.04,
            0.03, -0.02, -0.01, -0.08, -0.08, -0.02),
        "since the best": (1.982, 1.124, -0.17, -0.00, -0.01, -0.01, 0.02, 0.03,
            -0.02, 0.00, -0.06, 0.00, -0.04, 0.01),
        "improvements": (0.136, 0.500, 0.04, 0.02, -0.01, -0.02, -0.07, -0.02,
            0.03, -0.01, -0.01, 0.05, -0.04, -0.00),
        "second": (-3.019, 2.207, -0.16, -0.15, 0.20, -0.03, 0.11, -0.06,
            -0.05, -0.04, -0.11, -0.07, -0.02, 0.02),
        "fifth": (-1.424, 1.975, 0.03, -0.05, 0.36, 0.07, 0.01, -0.17,
            0.02, -0.06, -0.09, 0.05, -0.09, -0.02),
        "lower quartile": (-1.235, 1.746, 0.04, -0.00, 0.26, 0.10, 0.01, -0.12,
            0.04, -0.01, 0.07, 0.07, -0.08, -0.06),
        "median": (-0.214, 1.103, 0.05, 0.07, 0.32, 0.15, -0.06, -0.18,
            0.00, 0.05, -0.03, 0.07, -0.08, -0.06),
        "latest, median": (-0.794, 1.770, -0.04, -0.03, 0.16, 0.03, -0.04, -0.08,
            -0.00, -0.04, -0.07, 0.09, 0.03, 0.00),
        "latest, best": (-4.052, 2.931, -0.01, 0.01, 0.05, -0.01, 0.12, 0.01,
            -0.09, -0.02, 0.07, 0.02, 0.00, -0.03),
        "latest, spread": (-0.983, 1.526, 0.06, -0.01, 0.07, 0.09, -0.02, -0.04,
            0.03, -0.03, -0.01, -0.10, 0.04, 0.00),
        "near the best": (0.128, 0.128, 0.09, 0.01, -0.19, -0.06, -0.04, 0.04,
            -0.05, -0.08, -0.05, 0.04, 0.05, -0.01),
        "equal to the best": (0.094, 0.419, 0.06, 0.03, 0.14, 0.07, 0.03, -0.04,
            0.02, -0.03, 0.16, 0.10, 0.03, -0.03),
        "latest, rank": (0.393, 0.146, -0.10, 0.02, -0.09, -0.07, -0.02, 0.00,
            0.10, -0.00, -0.02, 0.07, -0.01, 0.02),
        "trend of ranks": (-0.242, 0.347, -0.12, -0.16, -0.01, -0.02, -0.04, -0.02,
            0.13, 0.02, -0.05, 0.10, -0.01, 0.01),
        "whole": (0.231, 0.391, -0.03, -0.01, -0.07, -0.04, -0.02, -0.00,
            -0.05, -0.02, -0.01, -0.08, 0.10, 0.00),
        "equal among the latest": (0.031, 0.108, 0.01, -0.07, 0.03, 0.01, 0.03, 0.01,
            -0.02, -0.03, 0.04, 0.07, -0.02, -0.03),
        "latest, met before": (0.047, 0.173, -0.08, -0.09, -0.03, -0.03, 0.01, 0.03,
            -0.05, 0.07, -0.03, 0.03, -0.03, -0.00),
    },
}
# fmt: on


# By whether calibrant chose the points: of searches that are stopped when the mean of their latest
# ten probabilities of a gain of 0.1 units within 20 trials is first below a level, which share
# gains it all the same. Counted on tasks that had no part in the table; for searches by calibrant,
# on kinds of tasks that had none (``python -m benchmarks.decisions.stopping check``).
STOP_BELOW = {
    True: {0.02: 0.018, 0.05: 0.062, 0.1: 0.188, 0.2: 0.378},
    False: {0.02: 0.010, 0.05: 0.060, 0.1: 0.158, 0.2: 0.250},
}


def stop_risk(lately: float, chosen: bool) -> float:
    """Return the share of searches that were stopped wrongly at such a mean of probabilities."""
    rates, levels = zip(*STOP_BELOW[chosen].items(), strict=True)
    return float(np.interp(lately, [0.0, *levels, 1.0], [0.0, *rates, 1.0]))


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
    # Where the fit alone says 60 to 100 % of a gain of 30 units, a fifth came; this says a quarter.
    log_far = -0.5 * np.log(np.maximum(np.asarray(gains, dtype=float) / FAR, 1.0))
    return np.asarray(np.exp(log_any + log_more + log_far))


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
