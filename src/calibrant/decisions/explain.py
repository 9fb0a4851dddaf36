"""Why this point? What was believed when a trial started, read back from the trials before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.core.typing import FloatArray
from calibrant.core.words import interval, number, percent
from calibrant.decisions.beating import chance_to_beat
from calibrant.decisions.belief import StudyBelief, believe
from calibrant.decisions.importance import importance_of
from calibrant.decisions.outlook import LEAST_OUTCOMES, outcomes
from calibrant.decisions.words import html_table, setting_text
from calibrant.search.defaults import N_STARTUP_TRIALS
from calibrant.studies.runner import quiet_optuna
from calibrant.studies.shown import COVERAGE, interval_shown
from calibrant.studies.suggestions import stored

_NEAREST = 3  # trials that are listed
_SPREAD = 128  # points of the space that uncertainty is compared with
_GRID = 21  # values of a parameter that are tried
_UNCERTAIN = 0.5  # of points of the space are less uncertain: above it, a trial explores


@dataclass(frozen=True)
class Neighbour:
    """A trial near the one that is explained."""

    number: int
    value: float
    distance: float  # in the parameter that differs most, as a share of its range


@dataclass(frozen=True)
class Explanation:
    """Why a trial was chosen: what the model expected of it before it ran.

    Args:
        number: the number of the trial.
        params: its setting.
        value: its outcome; None if it has none.
        shown: the interval that was stored with the trial; None if none was.
        interval: the calibrated 80 % interval that its setting gets from the trials before it.
        best_before: the best value at that time.
        improves: the probability, at that time, of a better one; of suggestions of the default
            model as other searches have shown, mostly less than the interval suggests.
        feasible: the probability, at that time, that all constraints are met.
        uncertainty: the share of the search space that was less uncertain.
        neighbours: the nearest trials finished before it.
        parameters: for each parameter, the lowest and highest median forecast along it.
        importance: for each parameter, the share of the forecast that depended on it.
        reason: why it was chosen, in words.
    """

    number: int
    params: dict[str, Any]
    value: float | None
    shown: tuple[float, float] | None
    interval: tuple[float, float] | None
    best_before: float | None
    improves: float | None
    feasible: float
    uncertainty: float | None
    neighbours: tuple[Neighbour, ...]
    parameters: Mapping[str, tuple[float, float]]
    importance: Mapping[str, float]
    reason: str

    def sentences(self) -> list[str]:
        """Return the explanation in words."""
        said = [f"Trial {self.number}: {setting_text(self.params)}.", self.reason]
        if self.interval is not None and self.improves is not None:
            assert self.best_before is not None
            said.append(
                f"Forecast: {interval(*(self.shown or self.interval))} ({percent(COVERAGE)} "
                f"interval). It was {percent(self.improves)} likely to be better than the best "
                f"value then, {number(self.best_before)}."
            )
        if self.feasible < 1.0:
            said.append(f"It was {percent(self.feasible)} likely to meet all constraints.")
        if self.value is not None:
            said.append(f"It gave {number(self.value, 6)}.")
        if self.neighbours:
            near = ", ".join(f"trial {n.number} ({number(n.value)})" for n in self.neighbours)
            said.append(f"The nearest trials before it: {near}.")
        return said

    def __str__(self) -> str:
        lines = [
            f"  {name}: {percent(self.importance[name])} of the variation of the forecast; if only "
            f"it changes, the median forecast is between {number(low)} and {number(high)}"
            for name, (low, high) in self.parameters.items()
        ]
        return "\n".join([*self.sentences(), *lines])

    def _repr_html_(self) -> str:
        rows = [
            [name, percent(self.importance[name]), number(low), number(high)]
            for name, (low, high) in self.parameters.items()
        ]
        head = ["parameter", "share of variation", "lowest median", "highest median"]
        return html_table(self.sentences(), head, rows)


def explain(study: Study, trial: int) -> Explanation:
    """Return why a trial was chosen: what the model expected of it before it ran.

    >>> import calibrant
    >>> study = calibrant.minimize(lambda p: p["x"] ** 2, {"x": (-1.0, 2.0)}, n_trials=12, seed=0)
    >>> told = calibrant.explain(study, 11)
    >>> told.params == study.trials[11].params
    True

    The belief is rebuilt from the trials that had finished by then, so it works on any study; the
    sampler itself may have used another model or acquisition.

    Args:
        study: a study with one objective.
        trial: the number of the trial.
    """
    if len(study.directions) != 1:
        raise ValueError(
            f"An explanation needs a single objective, but the study has {len(study.directions)}."
        )
    trials = study.get_trials(deepcopy=False)
    if not 0 <= trial < len(trials):
        raise ValueError(
            f"`0 <= trial < {len(trials)}` must hold, as the study has {len(trials)} trials, but "
            f"got trial={trial}."
        )
    this = trials[trial]
    before = [t for t in trials if _ended_before(t, this)]
    known = [t for t in before if t.state == TrialState.COMPLETE and np.all(np.isfinite(t.values))]
    shown = interval_shown(study, this)
    if len(known) < N_STARTUP_TRIALS or not this.params:
        return _first(this, shown, len(known))
    with quiet_optuna():
        past = optuna.create_study(directions=study.directions)
        past.add_trials(before)
    belief = believe(past)
    # Limits have odds of their own, and what was learned knows none.
    learned = None if belief.constraints else _learned(past, this)
    return _explained(belief, this, shown, learned)


def _learned(past: Study, trial: FrozenTrial) -> float | None:
    """Return how often such a suggestion beats the best value; None of other models' ones."""
    suggestion = stored(trial)
    if suggestion is None or suggestion.known is None or len(past.trials) < LEAST_OUTCOMES:
        return None
    seen = outcomes(past)
    return chance_to_beat(seen.progress(seen.y.size), suggestion.forecasts[0])


def _ended_before(trial: FrozenTrial, this: FrozenTrial) -> bool:
    if trial.number == this.number or trial.datetime_complete is None:
        return False
    if this.datetime_start is None:
        return trial.number < this.number
    return trial.datetime_complete <= this.datetime_start


def _first(trial: FrozenTrial, shown: tuple[float, float] | None, known: int) -> Explanation:
    reason = (
        f"It is one of the first: {known} trials had finished, too few for a model, and the first "
        "settings are spread over the space."
    )
    return Explanation(
        trial.number, trial.params, _value(trial), shown, None, None, None, 1.0, None, (), {}, {},
        reason,
    )  # fmt: skip


def _explained(
    belief: StudyBelief,
    trial: FrozenTrial,
    shown: tuple[float, float] | None,
    learned: float | None,
) -> Explanation:
    """Return the explanation; ``learned`` is how often such a suggestion beats the best value."""
    space, quantity, sign = belief.space, belief.objectives[0], belief.objectives[0].sign
    x = space.row(space.existing(space.to_internal(trial.params, outside=True)))
    forecast = quantity.outcome(x[None])
    low, high = sorted(sign * float(end[0]) for end in forecast.interval(COVERAGE))
    reached = belief.history.Y[belief.history.feasible, 0]
    best = float((reached if reached.size else belief.history.Y[:, 0]).min())
    by_forecast = float(np.asarray(forecast.cdf(best))[0])
    improves = by_forecast if learned is None else learned
    limits = [limit.outcome(x[None]).cdf(0.0) for limit in belief.constraints]
    others = belief.cube.spread(_SPREAD, np.random.default_rng(0))
    here, there = (_uncertainty(belief, X) for X in (x[None], others))
    uncertainty = float(np.mean(there < here[0]))
    return Explanation(
        number=trial.number,
        params=trial.params,
        value=_value(trial),
        shown=shown,
        interval=(low, high),
        best_before=sign * best,
        improves=improves,
        feasible=float(np.prod(limits)),
        uncertainty=uncertainty,
        neighbours=_neighbours(belief, x),
        parameters=_along(belief, x),
        importance=importance_of(belief, quantity),
        reason=_reason(float(np.asarray(forecast.quantile(0.5))[0]) < best, improves, uncertainty),
    )


def _uncertainty(belief: StudyBelief, X: FloatArray) -> FloatArray:
    """Return the std of the mean outcome on the model's scale."""
    processes = belief.objectives[0].processes
    return np.asarray(np.mean([process.posterior(X).std for process in processes], axis=0))


def _reason(better: bool, improves: float, uncertainty: float) -> str:
    share = percent(uncertainty)
    if better:
        return (
            "It exploits: the middle of the forecast is better than the best value "
            f"({percent(improves)} likely to improve)."
        )
    if uncertainty >= _UNCERTAIN:
        return f"It explores: the model was less certain there than in {share} of the space."
    return (
        f"It does both: it is near good settings ({percent(improves)} likely to improve), and the "
        f"model was less certain there than in {share} of the space."
    )


def _neighbours(belief: StudyBelief, x: FloatArray) -> tuple[Neighbour, ...]:
    apart = np.abs(belief.history.X - x).max(axis=1)
    sign = belief.objectives[0].sign
    return tuple(
        Neighbour(belief.numbers[i], float(sign * belief.history.Y[i, 0]), float(apart[i]))
        for i in np.argsort(apart, kind="stable")[:_NEAREST]
    )


def _along(belief: StudyBelief, x: FloatArray) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest median forecast along each parameter that exists here."""
    quantity, ends = belief.objectives[0], {}
    for column, name in enumerate(belief.space.coordinates):
        if name not in belief.space.internal(x):
            continue
        X = np.repeat(x[None], _GRID, axis=0)
        X[:, column] = np.linspace(0.0, 1.0, _GRID)
        middle = quantity.sign * np.asarray(quantity.outcome(belief.cube.snap(X)).quantile(0.5))
        ends[name] = (float(middle.min()), float(middle.max()))
    return ends


def _value(trial: FrozenTrial) -> float | None:
    return trial.value if trial.state == TrialState.COMPLETE else None
