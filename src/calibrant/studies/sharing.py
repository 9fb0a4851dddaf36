"""What the workers of one study share: its parameters, its program, and a budget."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    distribution_to_json,
    json_to_distribution,
)
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.evaluations import INTERRUPTED, cut_off
from calibrant.studies.heartbeats import BEAT, worker_of
from calibrant.studies.late import LATE
from calibrant.studies.limits import checked
from calibrant.studies.processes import identity

_LOOK = 0.5  # seconds between two looks at what the others are doing
_PLAN = "calibrant:plan"  # user attribute of a study: what a worker needs to know to join it


@dataclass(frozen=True)
class Plan:
    """What a worker needs to know to join a study.

    Args:
        space: the parameters.
        n_trials: the evaluations that the study is to have.
        program: with its arguments, in which ``{name}`` stands for a parameter.
        json_field, result_file, result_regex, trial_timeout: how its result is read.
        limits: the most that other fields of its JSON may be.
        min_feasible: the probability with which suggestions keep to them.
        json_std_field, cost_field: fields of its JSON that say how noisy the result is, and what
            the evaluation has cost.
        budget: what all evaluations may cost, as it was written; None: anything.
        such_that: constraints between parameters, as text.
        fixed: parameters that are given rather than chosen.
        candidates: the file of candidates, and the column of their names.
        earlier: earlier studies, as ``STORAGE::STUDY``.
        renamed: what their parameters are called now.
        report_regex: how reports on the way are read.
        prune_below: the probability of becoming one of the best below which a trial is given up.
    """

    space: Mapping[str, BaseDistribution]
    n_trials: int
    program: tuple[str, ...]
    json_field: str | None = None
    result_file: str | None = None
    result_regex: str | None = None
    trial_timeout: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    min_feasible: float | None = None
    json_std_field: str | None = None
    cost_field: str | None = None
    budget: str | None = None
    such_that: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, str] | None = None
    earlier: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    report_regex: str | None = None
    prune_below: float | None = None


def announce(study: Study, plan: Plan) -> None:
    """Keep a plan with its study, for workers that join it."""
    noted = {
        "space": {name: distribution_to_json(d) for name, d in plan.space.items()},
        "n_trials": plan.n_trials,
        "program": list(plan.program),
        "json_field": plan.json_field,
        "result_file": plan.result_file,
        "result_regex": plan.result_regex,
        "trial_timeout": plan.trial_timeout,
        "limits": dict(plan.limits),
        "min_feasible": plan.min_feasible,
        "json_std_field": plan.json_std_field,
        "cost_field": plan.cost_field,
        "budget": plan.budget,
    }
    # Only where there are any: workers of an earlier version can join all others.
    limited = {"such_that": plan.such_that, "fixed": plan.fixed, "candidates": plan.candidates}
    limited |= {"earlier": plan.earlier, "renamed": plan.renamed}
    noted |= {name: _listed(part) for name, part in limited.items() if part}
    if plan.prune_below is not None:
        noted |= {"report_regex": plan.report_regex, "prune_below": plan.prune_below}
    if study.user_attrs.get(_PLAN) != noted:
        study.set_user_attr(_PLAN, noted)


def plan_of(study: Study) -> Plan:
    """Return the plan of a study, or raise if `calibrant tune` has not started it."""
    noted: Any = study.user_attrs.get(_PLAN)
    try:
        space = {name: json_to_distribution(text) for name, text in noted["space"].items()}
        return Plan(
            space,
            int(noted["n_trials"]),
            tuple(map(str, noted["program"])),
            noted["json_field"],
            noted["result_file"],
            noted["result_regex"],
            noted["trial_timeout"],
            checked(noted.get("limits")),
            noted.get("min_feasible"),
            noted.get("json_std_field"),
            noted.get("cost_field"),
            noted.get("budget"),
            tuple(map(str, noted.get("such_that", ()))),
            dict(noted.get("fixed", {})),
            _pair(noted.get("candidates")),
            tuple(map(str, noted.get("earlier", ()))),
            dict(noted.get("renamed", {})),
            noted.get("report_regex"),
            noted.get("prune_below"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(
            f"The study `{study.study_name}` does not say what it tunes: start it with "
            "`calibrant tune`, then join it."
        ) from None


def _listed(part: Any) -> Any:
    return list(part) if isinstance(part, tuple) else dict(part)


def _pair(noted: Any) -> tuple[str, str] | None:
    if noted is None:
        return None
    path, names = noted
    return str(path), str(names)


def places(study: Study, n_trials: int) -> int:
    """Return how many evaluations nobody has made or begun, of those that a study is to have.

    Only trials with a heartbeat count as begun: of others nobody knows whether they will end.
    """
    trials = study.get_trials(deepcopy=False)  # once: a database is asked each time
    running = sum(_beats(trial) for trial in trials if trial.state == TrialState.RUNNING)
    return n_trials - evaluated(study, trials) - running


def is_surplus(study: Study, number: int, n_trials: int) -> bool:
    """Return whether a trial that has begun is one too many: others took the last places first.

    Or it need not be evaluated: others have given it up before it came to that, and will begin it
    again; or it repeats one whose outcome has come after all.

    Numbers tell who was first, but for a trial that repeats another: its number was given out when
    it was queued. Such a one, where it is in doubt, leaves the place to the others.
    """
    if not optuna_private.has_heartbeats(study):
        return False
    trials = study.get_trials(deepcopy=False)
    if trials[number].state.is_finished():
        return True
    repeated = optuna_private.begun_again(trials[number])
    if repeated and any(optuna_private.trial_note(t, LATE) in repeated for t in trials):
        return True
    repeats = bool(repeated)
    before = sum(
        _beats(trial)
        for trial in trials
        if trial.state == TrialState.RUNNING
        and (trial.number < number or (repeats and trial.number > number))
    )
    return evaluated(study, trials) + before >= n_trials


def evaluated(study: Study, trials: Sequence[FrozenTrial] | None = None) -> int:
    """Return the number of finished trials, without those that are no evaluations (``cut_off``).

    All ``trials`` may be given, if they were read before.
    """
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    finished = {trial.number for trial in trials if trial.state.is_finished()}
    return len(finished - cut_off(study, trials))


def take_over(study: Study) -> None:
    """Queue the trials of workers that have died."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)


def wait_for_others(study: Study) -> None:
    """Wait until no worker that gives signs of life evaluates anything."""
    while any(_beats(t) for t in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))):
        time.sleep(_LOOK)
        take_over(study)


def hand_back(study: Study) -> int:
    """Queue the trials of this process that were interrupted, for others; return how many."""
    trials = study.get_trials(deepcopy=False)
    again = {number for trial in trials for number in optuna_private.begun_again(trial)}
    stopped = [
        trial
        for trial in trials
        if trial.state == TrialState.FAIL
        and INTERRUPTED in trial.user_attrs
        and trial.params
        and worker_of(optuna_private.trial_note(trial, BEAT)) == identity()
        and trial.number not in again
    ]
    for trial in stopped:
        notes = optuna_private.as_repetition(optuna_private.notes(trial), trial.number)
        study.add_trial(
            optuna.create_trial(
                state=TrialState.WAITING,
                params=trial.params,
                distributions=trial.distributions,
                system_attrs=notes,
            )
        )
    return len(stopped)


def _beats(trial: FrozenTrial) -> bool:
    return optuna_private.trial_note(trial, BEAT) is not None
