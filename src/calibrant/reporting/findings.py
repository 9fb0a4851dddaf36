"""All that a page says about a study, read once from its storage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from calibrant.core.typing import FloatArray
from calibrant.core.words import shortened
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.looking_back import review
from calibrant.decisions.outlook import Outlook, outlook
from calibrant.decisions.recommend import recommend_of
from calibrant.decisions.recommendation import Recommendation
from calibrant.evaluation.verdict import Verdict, verdict
from calibrant.studies.coordinates import union
from calibrant.studies.evaluations import INTERRUPTED, cut_off
from calibrant.studies.front_review import FrontReview, review_front
from calibrant.studies.job import Job, job_of
from calibrant.studies.review import Review
from calibrant.studies.runner import ERROR_KEY
from calibrant.studies.shown import COVERAGE, interval_shown

_UNNAMED = "no-name-"  # how Optuna begins the names that it makes up


@dataclass(frozen=True)
class Row:
    """One trial, as the page lists it."""

    number: int
    state: str  # finished, pruned, failed, interrupted, running or waiting
    values: tuple[float, ...]  # empty without an outcome
    params: Mapping[str, Any]
    interval: tuple[float, float] | None  # given before the evaluation, for a single objective
    feasible: bool | None  # None: no constraint was set
    constraints: Mapping[str, float]
    reason: str  # why it has no value
    started: datetime | None
    ended: datetime | None

    @property
    def value(self) -> float:
        """The first objective; NaN without an outcome."""
        return self.values[0] if self.values else math.nan

    @property
    def seconds(self) -> float:
        """How long it took; NaN if it has not ended."""
        if self.started is None or self.ended is None:
            return math.nan
        return (self.ended - self.started).total_seconds()

    @property
    def held(self) -> bool | None:
        """Whether the outcome lay inside its interval; None without one of the two."""
        if self.interval is None or not self.values:
            return None
        return self.interval[0] <= self.value <= self.interval[1]


@dataclass(frozen=True)
class Findings:
    """A study as it was when the page was written.

    Args:
        study: the study itself, for what is computed from it.
        title: the heading of the page.
        rows: one per trial, in the order of their numbers.
        names: the parameters, in the order in which they were first met.
        distributions: of the parameters, as each was last.
        maximised: for each objective, whether higher is better.
        review: best trial and forecasts; None of several objectives or without a finite value.
        front: volume and forecasts of several objectives; None of one or without finite values.
        verdict: how many intervals held.
        best: the best trial, or those of the front of several objectives.
        belief: what the trials make one believe; None without a finite value or a choice.
        recommendation: the setting to use; None of several objectives, or without a belief.
        job: how the study was started, as far as it is recorded.
    """

    study: Study
    title: str
    rows: tuple[Row, ...]
    names: tuple[str, ...]
    distributions: Mapping[str, BaseDistribution]
    maximised: tuple[bool, ...]
    review: Review | None
    front: FrontReview | None
    verdict: Verdict
    best: tuple[Row, ...]
    belief: StudyBelief | None
    recommendation: Recommendation | None
    job: Job

    @property
    def finished(self) -> tuple[Row, ...]:
        """The trials with a finite value of each objective."""
        return tuple(row for row in self.rows if row.values)

    @property
    def single(self) -> bool:
        """Whether there is one objective."""
        return len(self.maximised) == 1

    @cached_property
    def outlook(self) -> Outlook | None:
        """What more trials would bring; None of several objectives, or of too few trials."""
        if not self.single:
            return None
        try:
            return outlook(self.study)
        except ValueError:  # too few trials, or none that meets the constraints
            return None

    def point(self, params: Mapping[str, Any]) -> FloatArray:
        """Return a setting as a point of the belief's cube, also outside the ranges of today."""
        assert self.belief is not None
        space = self.belief.space
        return space.row(space.existing(space.to_internal(params, outside=True)))

    def in_state(self, *states: str) -> tuple[Row, ...]:
        """Return the trials in some states."""
        return tuple(row for row in self.rows if row.state in states)


def findings(study: Study, title: str | None = None) -> Findings:
    """Read a study."""
    trials = study.get_trials(deepcopy=False)
    gone = cut_off(study)
    single = len(study.directions) == 1
    has_value = any(_values(trial) for trial in trials)
    found = review(study) if single and has_value else None
    ends = zip(found.low.tolist(), found.high.tolist(), strict=True) if found else ()
    known = dict(zip(found.forecast_numbers if found else (), ends, strict=True))
    # Of an outcome only what the review counts, and of others what was shown beforehand.
    shown = [known.get(t.number) if _values(t) else interval_shown(study, t) for t in trials]
    rows = tuple(_row(t, t.number in gone, ends) for t, ends in zip(trials, shown, strict=True))
    distributions = union([trial.distributions for trial in trials])
    names = dict.fromkeys(name for trial in trials for name in trial.params)
    held = (int(found.held.sum()), int(found.held.size)) if found else (0, 0)
    belief = believe(study) if has_value and distributions else None
    advice = recommend_of(belief) if belief is not None and single else None
    return Findings(
        study=study,
        title=title or _title(study.study_name),
        rows=rows,
        names=tuple(names),
        distributions=distributions,
        maximised=tuple(d == StudyDirection.MAXIMIZE for d in study.directions),
        review=found,
        front=review_front(study) if has_value and not single else None,
        verdict=verdict(*held, coverage=COVERAGE),
        best=_best(study, rows, found),
        belief=belief,
        recommendation=advice if isinstance(advice, Recommendation) else None,
        job=job_of(study),
    )


def _title(name: str) -> str:
    unnamed = name.startswith(_UNNAMED)
    return "Study without a name" if unnamed else f"Study {shortened(name, 80)}"


def _values(trial: FrozenTrial) -> tuple[float, ...]:
    """Return the outcome of a trial; none if it is not finite."""
    values = tuple(trial.values) if trial.state == TrialState.COMPLETE else ()
    return values if np.all(np.isfinite(values)) else ()


def _row(trial: FrozenTrial, gone: bool, interval: tuple[float, float] | None) -> Row:
    values = _values(trial)
    limits = dict(trial.constraints)
    return Row(
        number=trial.number,
        state=_state(trial, gone),
        values=values,
        params=trial.params,
        interval=interval,
        feasible=all(limit <= 0.0 for limit in limits.values()) if limits else None,
        constraints=limits,
        reason="" if values else _reason(trial),
        started=trial.datetime_start,
        ended=trial.datetime_complete,
    )


def _state(trial: FrozenTrial, gone: bool) -> str:
    if trial.state == TrialState.FAIL:
        return "interrupted" if gone or INTERRUPTED in trial.user_attrs else "failed"
    words = {TrialState.COMPLETE: "finished", TrialState.PRUNED: "pruned"}
    return words.get(trial.state, trial.state.name.lower())


def _reason(trial: FrozenTrial) -> str:
    if trial.state == TrialState.FAIL:
        said = trial.user_attrs.get(ERROR_KEY)
        return str(said) if said else "no finite value, and no reason recorded"
    if trial.state == TrialState.COMPLETE:
        return f"the value is {trial.values}"
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        step = max(trial.intermediate_values)
        return f"pruned at step {step}, at {trial.intermediate_values[step]:.6g}"
    return ""


def _best(study: Study, rows: Sequence[Row], found: Review | None) -> tuple[Row, ...]:
    if found is not None:
        return (rows[found.best_number],)
    if len(study.directions) == 1 or not any(row.values for row in rows):
        return ()
    return tuple(row for t in study.best_trials if (row := rows[t.number]).values)
