"""A finished trial, as far as the search is concerned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from calibrant.core.normal import SCORE_LIMIT
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.search.shown import Circumstances
from calibrant.studies.coordinates import Internal
from calibrant.studies.measured import cost_of, stds_of
from calibrant.studies.suggestions import stored


def internal_params(trial: FrozenTrial) -> dict[str, float]:
    """Return a trial's parameters as Optuna stores them."""
    return {
        name: trial.distributions[name].to_internal_repr(value)
        for name, value in trial.params.items()
    }


class Record(NamedTuple):
    """A finished trial, as far as the search is concerned."""

    finished: tuple[float, int]  # when, and the trial's number
    ran: bool  # until it ended or was pruned: else there may be parameters it never came to
    params: dict[str, float]
    values: FloatArray | None  # to be minimised; None: it gave nothing that can be used
    reports: dict[int, float]  # finite ones, by step, to be minimised
    pruned: bool  # after a report that says how it was going
    constraints: dict[str, float]
    forecasts: tuple[Forecast, ...]  # made before the outcome, of just this point
    scores: FloatArray | None  # of the values under them
    started: float  # when
    known: Circumstances | None  # in which the default model made the forecasts
    shown: tuple[float, float] | None  # the interval shown for a single objective, minimised
    limit_scores: dict[str, float]  # of constraints under the forecasts made before them
    promised: float | None  # the probability given before that all constraints are met
    by: Mapping[str, Any] | None = None  # the state that showed the interval, as it was noted
    stds: FloatArray | None = None  # of the noise of its values, NaN where it is not known
    cost: float | None = None  # as it was reported
    seconds: float = 0.0  # that it took

    @property
    def value(self) -> float:
        """The first objective of a trial that has one."""
        assert self.values is not None
        return float(self.values[0])

    @property
    def met(self) -> bool:
        """Whether all constraints are met."""
        return all_met(self.constraints)


def all_met(constraints: Mapping[str, float]) -> bool:
    """Return whether none of some constraints is broken."""
    return not any(value > 0.0 for value in constraints.values())


def best_so_far(study: Study) -> FrozenTrial | None:
    """Return the best complete trial among those that meet all constraints, if there is one."""
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    within = [trial for trial in complete if all_met(trial.constraints)]
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    return min(within, key=lambda trial: sign * (trial.value or 0.0), default=None)


def read(trial: FrozenTrial, flip: FloatArray) -> Record:
    """Return a finished trial; ``flip`` turns each objective into one to be minimised."""
    params, suggestion = internal_params(trial), stored(trial)
    if trial.state == TrialState.FAIL and params and suggestion is not None:
        params = {**suggestion.params, **params}  # what it would have asked for, had it not failed
    values = None
    if trial.state == TrialState.COMPLETE and np.all(np.isfinite(trial.values)):
        values = flip * np.array(trial.values)
    reports = {
        step: float(flip[0] * value)
        for step, value in trial.intermediate_values.items()
        if np.isfinite(value)
    }
    diverged = bool(trial.intermediate_values) and max(trial.intermediate_values) not in reports
    forecasts: tuple[Forecast, ...] = ()
    scores, limit_scores, promised = None, {}, None
    # A forecast counts if it was of the point that was then evaluated. Parameters that turned out
    # not to exist, or that nobody knew of, do not change what was said about this outcome.
    if values is not None and suggestion is not None and _agree(suggestion.params, params):
        # A trial may have been copied from a study with other objectives, or another direction.
        same = not suggestion.signs or suggestion.signs == tuple(flip)
        if same and len(suggestion.forecasts) == values.size:
            forecasts = suggestion.forecasts
            with np.errstate(all="ignore"):  # a damaged forecast may have no score
                each = [float(f.score(y)) for f, y in zip(forecasts, values, strict=True)]
            scores = np.clip(each, -SCORE_LIMIT, SCORE_LIMIT)
            if np.isnan(scores).any():
                forecasts, scores = (), None
        told = {name: trial.constraints.get(name, np.nan) for name in suggestion.limits}
        if told and not np.isnan(list(told.values())).any():
            scored = {name: _score(suggestion.limits[name], told[name]) for name in told}
            if not np.isnan(list(scored.values())).any():
                limit_scores, promised = scored, suggestion.feasible
    return Record(
        ended(trial),
        trial.state != TrialState.FAIL,
        params,
        values,
        reports,
        trial.state == TrialState.PRUNED and bool(reports) and not diverged,
        dict(trial.constraints),
        forecasts,
        scores,
        moment(trial.datetime_start or trial.datetime_complete),
        suggestion.known if suggestion else None,
        suggestion.shown if suggestion and forecasts else None,
        limit_scores,
        promised,
        suggestion.by if suggestion and forecasts else None,
        stds_of(trial, flip.size),
        cost_of(trial),
        max(0.0, moment(trial.datetime_complete) - moment(trial.datetime_start))
        if trial.datetime_start
        else 0.0,
    )


def _score(forecast: Forecast, outcome: float) -> float:
    with np.errstate(all="ignore"):  # a damaged forecast may have no score
        return float(np.clip(forecast.score(outcome), -SCORE_LIMIT, SCORE_LIMIT))


def _agree(one: Internal, other: Internal) -> bool:
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def ended(trial: FrozenTrial) -> tuple[float, int]:
    """Return when a trial ended, and its number."""
    return moment(trial.datetime_complete), trial.number


def moment(when: datetime | None) -> float:
    """Return a time in seconds; 0 for none."""
    return when.timestamp() if when else 0.0
