"""A budget in the user's unit: what trials have cost, what is left, and when to stop.

What a trial costs is what it reports (:func:`~calibrant.set_cost`), what a function of its
parameters says beforehand, or the time that it takes, in this order. All of it is read from the
trials: workers share a budget, and a study that is resumed goes on with what is left of it.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from calibrant.core import validate
from calibrant.core.words import duration, number
from calibrant.search.costs import OVERSHOOT
from calibrant.studies.evaluations import cut_off
from calibrant.studies.measured import COST, cost_of, set_cost
from calibrant.studies.records import moment
from calibrant.studies.runner import Refused
from calibrant.studies.suggestions import stored

logger = logging.getLogger("calibrant")

_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", re.IGNORECASE)
_UNREPORTED = 5  # evaluations of which none says what it has cost: then none will

CostFunction = Callable[[dict[str, Any]], float]


@dataclass(frozen=True)
class Budget:
    """The total that the trials of a study may cost: for a sampler, and as a callback that stops.

    >>> import optuna, calibrant
    >>> budget = calibrant.Budget(10.0)
    >>> def train(trial):
    ...     width = trial.suggest_int("width", 1, 64, log=True)
    ...     calibrant.set_cost(trial, width / 16)  # what it took
    ...     return 1 / width
    >>> study = optuna.create_study(sampler=calibrant.CalibratedSampler(seed=0, budget=budget))
    >>> study.optimize(train, n_trials=100, callbacks=[budget])
    >>> budget.left(study) < 1.0
    True

    An evaluation is started if it is expected to cost at most a tenth more than what is left.

    Args:
        total: in any unit; or text with a unit of time ("90s", "30m", "2h", "1h30m"): then a trial
            that does not say what it has cost has cost the time that it took.
        cost: what a setting costs, where that is known beforehand: a function of the parameters.

    Raises:
        ValueError: unless the total is above zero.
    """

    total: float | str
    cost: CostFunction | None = None

    def __post_init__(self) -> None:
        self.most  # noqa: B018  # an error now is better than one in the search
        if self.cost is not None and not callable(self.cost):
            raise TypeError(
                f"`cost` must be a function of the parameters, but got cost={self.cost!r}; to "
                "report what a trial has cost, call `calibrant.set_cost(trial, cost)`."
            )

    @property
    def most(self) -> float:
        """The total as a number: of seconds, if it is a time."""
        return float(validate.positive("budget", parse_budget(self.total)[0]))

    @property
    def is_time(self) -> bool:
        """Whether it is a time."""
        return parse_budget(self.total)[1]

    def price(self, trial: FrozenTrial) -> float | None:
        """Return what a trial that has ended has cost; None where nobody knows."""
        told = cost_of(trial)
        if told is None and self.cost is not None and trial.params:
            return self.of(trial.params)
        if told is not None or not self.is_time or trial.datetime_start is None:
            return told
        return max(0.0, moment(trial.datetime_complete) - moment(trial.datetime_start))

    def of(self, params: Mapping[str, Any]) -> float:
        """Return what the function says that a setting costs.

        Raises:
            ValueError: where it gives anything but a finite number that is not negative.
        """
        assert self.cost is not None
        found = self.cost(dict(params))
        try:
            price = float(validate.not_negative("cost", found))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`cost` must give a finite number of at least 0, but gave {found!r} for "
                f"{dict(params)}."
            ) from error
        return price

    def spent(self, study: Study) -> float:
        """Return what all trials that have ended have cost.

        One of which that is not known counts as the mean of the others. One that someone stopped,
        or that another worker has begun again, counts only if it has reported a cost.
        """
        trials = study.get_trials(deepcopy=False)
        gone = cut_off(study, trials)
        known, unknown = [], 0
        for trial in trials:
            if not trial.state.is_finished():
                continue
            price = cost_of(trial) if trial.number in gone else self.price(trial)
            if price is not None:
                known.append(price)
            elif trial.number not in gone:
                unknown += 1
        mean = sum(known) / len(known) if known else 0.0
        return sum(known) + unknown * mean

    def left(self, study: Study, but: int = -1) -> float:
        """Return what is not spent, nor expected to be by trials that are running.

        Args:
            study: the study.
            but: the number of a running trial that is not counted.
        """
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        bound = sum(self._bound(trial) for trial in running if trial.number != but)
        return self.most - self.spent(study) - bound

    def _bound(self, trial: FrozenTrial) -> float:
        """Return what a running trial is expected to cost."""
        suggestion = stored(trial)
        expected = (suggestion.cost if suggestion else None) or 0.0
        if cost_of(trial) is None and self.is_time and self.cost is None:
            return max(expected, time.time() - moment(trial.datetime_start))
        return cost_of(trial) or expected

    @contextmanager
    def spending(self, trial: Trial, params: Mapping[str, Any]) -> Iterator[None]:
        """Evaluate a setting in this context, and keep with its trial what that has cost.

        Raises:
            Refused: before anything is begun, if it costs more than is left; the study stops then.
        """
        study = trial.study
        frozen = study.get_trials(deepcopy=False)[trial.number]
        suggestion = stored(frozen)
        expected = self.of(params) if self.cost else (suggestion.cost if suggestion else None)
        left = self.left(study, but=trial.number)
        if left <= 0.0 or (expected or 0.0) > (1.0 + OVERSHOOT) * left:
            study.stop()
            raise Refused
        if self.cost is not None:
            set_cost(trial, expected or 0.0)
        began = time.monotonic()
        try:
            yield
        finally:  # an evaluation that fails has taken its time, too
            if self.is_time and COST not in trial.user_attrs:
                set_cost(trial, time.monotonic() - began)

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study if nothing is left, or if no trial says what it costs."""
        if self.left(study) <= 0.0:
            study.stop()
            return
        done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(done) >= _UNREPORTED and all(self.price(one) is None for one in done):
            logger.error(
                "Stopped after %d trials: there is a budget of %s, but none says what it has cost. "
                "Report it with `calibrant.set_cost(trial, cost)`, return (value, {'cost': cost}), "
                "give `cost=` as a function of the parameters, or a budget with a unit of time.",
                len(done),
                number(self.most),
            )
            study.stop()

    def words(self, study: Study) -> str:
        """Return what is spent, in words."""
        spent, most = self.spent(study), self.most
        if self.is_time:
            return f"spent {duration(spent)} of {duration(most)}"
        return f"spent {number(spent)} of {number(most)}"


def parse_budget(total: float | str) -> tuple[float, bool]:
    """Return a budget as a number, and whether it is a time, in seconds.

    Raises:
        ValueError: for text that is neither a number nor one with units of time.
    """
    if not isinstance(total, str):
        return float(validate.finite("budget", total)), False
    parts = list(_PART.finditer(total))
    whole = bool(parts) and "".join(part[0] for part in parts) == total
    units = [part[2].lower() for part in parts]
    if whole and units == [""]:
        return float(parts[0][1]), False
    if whole and all(unit in _SECONDS for unit in units):
        return math.fsum(float(part[1]) * _SECONDS[part[2].lower()] for part in parts), True
    raise ValueError(
        f"A budget is a number, or a time such as 90s, 30m, 2h or 1h30m, but got {total!r}."
    )
