"""Stopping a search when more trials are no longer worth it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.core import validate
from calibrant.core.words import number
from calibrant.decisions.outlook import LEAST_OUTCOMES, MOST_TRIALS, TRIALS, Outlook, outlook

logger = logging.getLogger(__name__)

STOPPED = "calibrant:stopped"  # user attribute of a study: why it was stopped
_EARLIEST = 10  # trials: before, a search has hardly begun


@dataclass
class StopWhen:
    """Stops a study when the risk of missing an improvement is low: a callback for Optuna.

    >>> import calibrant
    >>> stop = calibrant.StopWhen(probability=0.05, delta=0.01, trials=10)
    >>> study = calibrant.minimize(
    ...     lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=60, seed=0, stop=stop
    ... )
    >>> len(study.trials) < 60
    True

    After each trial it takes the :func:`~calibrant.outlook` of the study, and stops when the
    risk that this is wrong is below ``probability``: of all stops, at most that share is to miss
    an improvement. The risk goes by the probability of an improvement on average over the latest
    ten trials, and was learned from what other searches missed when they were stopped by it: for
    the defaults of ``delta`` and ``trials``. For others it is a guide.
    Why it stopped is in ``reason``, in the log, and in the study's user attribute
    ``calibrant:stopped``.

    With ``value`` and ``price`` it weighs costs instead: it stops when no number of further trials,
    up to ``trials``, is expected to gain as much as it costs.

    Args:
        probability: stop when the risk of missing an improvement is lower than this.
        delta: the improvement worth having; by default a tenth of the interquartile range of
            outcomes so far.
        trials: how many more trials to look ahead.
        value: what an improvement by 1 is worth.
        price: what a trial costs, in the same currency.
        earliest: how many trials must have finished first.
    """

    probability: float = 0.05
    delta: float | None = None
    trials: int = TRIALS
    value: float | None = None
    price: float | None = None
    earliest: int = _EARLIEST
    reason: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.probability < 1.0:
            raise ValueError(
                f"`0 < probability < 1` must hold, but got probability={self.probability}."
            )
        if self.delta is not None:
            validate.not_negative("delta", self.delta)
        if not 1 <= validate.whole("trials", self.trials) <= MOST_TRIALS:
            raise ValueError(
                f"`1 <= trials <= {MOST_TRIALS}` must hold, but got trials={self.trials}."
            )
        if (self.value is None) != (self.price is None):
            raise ValueError(
                "`value` and `price` belong together: what an improvement by 1 is worth, and what "
                f"a trial costs; got value={self.value} and price={self.price}."
            )
        if self.value is not None and self.price is not None:
            validate.positive("value", self.value)
            validate.positive("price", self.price)
        validate.at_least("earliest", self.earliest, LEAST_OUTCOMES)

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if it is time to.

        Raises:
            ValueError: after the first trial, if the study has several objectives.
        """
        if len(study.directions) != 1:
            raise ValueError(
                f"`StopWhen` needs a single objective, but the study has {len(study.directions)}; "
                "minimise a weighted sum of them, or leave it out."
            )
        states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        finished = study.get_trials(deepcopy=False, states=states)
        if len(finished) < self.earliest:
            return
        if not any(one.state == TrialState.COMPLETE for one in finished):
            return
        self.reason = self.why(outlook(study, self.trials, self.delta))
        if self.reason is not None:
            logger.info(self.reason)
            study.set_user_attr(STOPPED, self.reason)
            study.stop()

    def why(self, ahead: Outlook) -> str | None:
        """Return why to stop with this outlook, or None to go on."""
        if self.value is not None and self.price is not None:
            profits = self.value * ahead.gains - self.price * np.arange(1, ahead.trials + 1)
            if profits.max() > 0.0:
                return None
            worth, cost = self.value * ahead.gains[-1], self.price * ahead.trials
            return (
                f"Stopped after {ahead.finished} trials: {ahead.trials} more are expected to gain "
                f"{number(float(worth))} and cost {number(cost)}, and fewer pay no better."
            )
        if ahead.risk >= self.probability:
            return None
        return (
            f"Stopped after {ahead.finished} trials: the risk of missing an improvement of at "
            f"least {number(ahead.delta)} within {ahead.trials} more is "
            f"{100.0 * ahead.risk:.1f} %, below {100.0 * self.probability:g} %."
        )
