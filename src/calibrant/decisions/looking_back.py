"""Looking back on a study: how often each kind of statement about it came true.

A review of the forecasts that were stored is made in ``studies``. Here it learns what is made of
them, how probable it was that a suggestion beats the best value; what is said without being stored,
from outcomes alone, as an outlook would have said it along the way; and of the trials that a
calibrated pruner gave up and let finish.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from optuna.study import Study

from calibrant.core.typing import FloatArray
from calibrant.decisions.beating import chances_to_beat
from calibrant.decisions.gains import exceedance
from calibrant.decisions.outlook import WORTH_HAVING, outcomes
from calibrant.decisions.pruning import audited
from calibrant.studies.review import Review
from calibrant.studies.review import review as review_of_forecasts
from calibrant.studies.statements import Statements

_EARLIEST = 10  # trials: before, a search has hardly begun
_WINDOW = 5  # trials that an outlook is taken of; windows do not overlap, so chance can be counted


def review(study: Study) -> Review:
    """Return the result of a study, and how often each kind of prediction about it came true.

    >>> import calibrant
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=12, seed=0)
    >>> found = calibrant.review(study)
    >>> found.held.size  # intervals: the first five trials have none
    7

    Intervals and probabilities of feasibility were stored before their outcomes, and are
    recalibrated only with the outcomes known then. An outlook is computed every five trials from
    the tenth on, from the trials known then. Trials that a :class:`~calibrant.CalibratedPruner`
    would have pruned, but let finish, show how often it was wrong.

    Args:
        study: an Optuna study of one objective, whichever sampler made it.

    Raises:
        ValueError: if the study has several objectives, or no trial with a finite value.
    """
    found = review_of_forecasts(study)
    kinds = [_outlooks(study), _doomed(study)]
    others = tuple(kind for kind in kinds if kind.stated.size)
    return replace(found, hoped=_hopes(study, found), others=others)


def _hopes(study: Study, found: Review) -> FloatArray:
    """Return the probabilities that suggestions beat the best value, as was learned of such.

    Where nothing was learned, of other models than the default, they are those of the forecasts.
    """
    learned = chances_to_beat(study)
    stated = zip(found.hoped_numbers, found.hoped.tolist(), strict=True)
    return np.array([learned.get(trial, by_forecast) for trial, by_forecast in stated])


def _outlooks(study: Study) -> Statements:
    """Return what outlooks would have said of improvements within the next trials."""
    made = list(_windows(study))
    stated, came = (np.array([pair[i] for pair in made]) for i in (0, 1))
    verb = "saw an improvement worth having"
    return Statements("five-trial outlook", verb, stated, came.astype(bool))


def _windows(study: Study) -> Iterator[tuple[float, bool]]:
    try:
        seen = outcomes(study)
    except ValueError:  # too few trials, or none that meets all constraints
        return
    y = seen.y
    for n in range(_EARLIEST, y.size - _WINDOW + 1, _WINDOW):
        now = seen.progress(n)
        if now.unit > 0.0:
            stated = exceedance(now, [_WINDOW], [WORTH_HAVING])[0, 0]
            gain = now.best - y[n : n + _WINDOW].min()
            yield float(stated), bool(gain >= WORTH_HAVING * now.unit)


def _doomed(study: Study) -> Statements:
    """Return what a calibrated pruner promised of trials that it let finish."""
    made = audited(study)
    stated, came = (np.array([pair[i] for pair in made]) for i in (0, 1))
    return Statements("doomed trial", "became one of the best", stated, came.astype(bool))
