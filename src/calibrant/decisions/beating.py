"""How probable it is that a suggestion beats the best value: learned across searches.

A point is suggested because its forecast looks good, so the forecast says too often that it will be
the best. How often it is depends on how far the forecast lies below the best value, on how wide it
is, and on where the search stands (:mod:`~calibrant.decisions.progress`): a logistic regression on
these, learned from searches by the default model on the tasks of a benchmark.
``benchmarks/decisions/beating.py`` fits the numbers, and ``benchmarks/decisions/README.md`` judges
them on tasks that had no part in it.
"""

from __future__ import annotations

import numpy as np
from optuna.study import Study
from scipy.special import expit

from calibrant.core.typing import FloatArray
from calibrant.decisions import progress
from calibrant.decisions.outlook import LEAST_OUTCOMES, outcomes
from calibrant.decisions.progress import Progress
from calibrant.forecasts.base import Forecast
from calibrant.studies.archive import Archive

WIDEST = 3.0  # standardised features are clipped: beyond, nothing was learned
_RULED_OUT = 3e-3  # by the forecast: so it is, as was learned, but not by this form
_FURTHEST = 8.0  # stds: further from the best, a forecast is as good as certain
_NARROWEST, _BROADEST = -14.0, 4.0  # logarithms of stds in units

FEATURES = ("ahead", "behind", "close", "doubt", "doubt squared", *progress.FEATURES)

# Of each feature: mean and std where it was learned, and its weight.
# fmt: off
TABLE = {
    "(constant)": (0.000, 1.000, -2.626),
    "ahead": (-0.668, 1.172, 0.557),
    "behind": (-0.786, 1.036, 0.424),
    "close": (-0.400, 0.579, -0.068),
    "doubt": (-2.381, 2.907, -1.517),
    "doubt squared": (14.118, 26.557, -0.554),
    "trials": (3.437, 0.768, -0.376),
    "dimensions": (1.548, 0.682, 0.111),
    "since the best": (1.763, 1.241, -0.091),
    "improvements": (0.578, 0.570, 0.036),
    "second": (-4.407, 2.076, -0.184),
    "fifth": (-2.984, 2.339, 0.354),
    "lower quartile": (-2.412, 1.934, 0.296),
    "median": (-1.004, 1.372, 0.285),
    "latest, median": (-2.210, 2.214, 0.075),
    "latest, best": (-5.350, 2.333, 0.043),
    "latest, spread": (-1.674, 2.022, 0.012),
    "near the best": (0.195, 0.165, 0.034),
    "equal to the best": (0.219, 0.675, -0.602),
    "latest, rank": (0.337, 0.176, -0.194),
    "trend of ranks": (-0.456, 0.352, 0.012),
    "whole": (0.269, 0.407, -0.083),
    "equal among the latest": (0.055, 0.149, -0.157),
    "latest, met before": (0.088, 0.222, -0.128),
}
# fmt: on


def features(now: Progress, ahead: float, doubt: float) -> FloatArray:
    """Return what the probability depends on.

    Args:
        now: where the search stands; its unit must not be 0.
        ahead: how far the mean of the model's own forecast lies below the best value, in its stds.
        doubt: that std, in the units of outcomes.
    """
    ahead = float(np.clip(ahead, -_FURTHEST, _FURTHEST))
    width = float(np.clip(np.log(doubt) - np.log(now.unit), _NARROWEST, _BROADEST))
    own = [ahead, min(ahead, 0.0), np.clip(ahead, -1.0, 1.0), width, width**2]
    return np.array([*own, *now.features])


def chance_to_beat(now: Progress, forecast: Forecast) -> float | None:
    """Return the probability that a suggestion of the default model beats the best value so far.

    None where that is not known: where all outcomes are the same, or the forecast has no spread.
    What the forecast all but rules out is as improbable as it says.

    Args:
        now: where the search stood when the point was suggested.
        forecast: what the model forecast there, minimised.
    """
    if not now.unit > 0.0:
        return None
    by_forecast = float(np.asarray(forecast.cdf(now.best)))
    if by_forecast < _RULED_OUT:
        return by_forecast
    mean, std = float(forecast.mean()), float(forecast.std())
    if not (np.isfinite(mean) and np.isfinite(std) and std > 0.0):
        return None
    with np.errstate(over="ignore"):
        known = features(now, (now.best - mean) / std, std)
    (_, _, constant), *others = TABLE.values()
    centre, spread, weights = np.array(others).T
    return float(expit(constant + np.clip((known - centre) / spread, -WIDEST, WIDEST) @ weights))


def chances_to_beat(study: Study) -> dict[int, float]:
    """Return, by the number of the trial, how probable it was that it beats the best value so far.

    Of suggestions of the default model that have a value, by the outcomes that came before theirs,
    in a study of one objective.
    """
    try:
        seen = outcomes(study)
    except ValueError:  # too few trials, or none that meets all constraints
        return {}
    archive, chances = Archive(), dict[int, float]()
    archive.update(study)
    for count, (trial, record) in enumerate(archive.records.items()):
        if count < LEAST_OUTCOMES or record.known is None or record.values is None:
            continue
        chance = chance_to_beat(seen.progress(count), record.forecasts[0])
        if chance is not None:
            chances[trial] = chance
    return chances
