"""What is told of a trial that others have given up meanwhile: it is kept.

A process goes on seeing its own trials as running until it has told them. What it tells late
becomes the outcome of the trial that was to repeat it, if nobody has begun that, and otherwise a
trial of its own.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private

LATE = "calibrant:late"  # system attribute: the number of the trial whose outcome came late


@dataclass
class Own:
    """A trial that this process runs, and what it could not store once it had been given up."""

    study_id: int
    params: dict[str, tuple[float, BaseDistribution]] = field(default_factory=dict)
    reports: dict[int, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)  # system attributes

    def overlaid(self, trial: FrozenTrial) -> FrozenTrial:
        """Return the trial as the process that runs it sees it."""
        seen = copy.copy(trial)
        seen.state, seen.values, seen.datetime_complete = TrialState.RUNNING, None, None
        seen.distributions = {**trial.distributions, **{n: d for n, (_, d) in self.params.items()}}
        external = {n: d.to_external_repr(value) for n, (value, d) in self.params.items()}
        seen.params = {**trial.params, **external}
        seen.intermediate_values = {**trial.intermediate_values, **self.reports}
        seen.user_attrs = {**trial.user_attrs, **self.user_attrs}
        optuna_private.set_notes(seen, {**optuna_private.notes(trial), **self.notes})
        return seen


def bring_home(storage: BaseStorage, study_id: int, number: int, evaluation: FrozenTrial) -> bool:
    """Store the evaluation of a trial that could not be told; return False if it is there already.

    It becomes the outcome of that trial if nobody has ended it, else of the trial that was queued
    to repeat it, else a trial of its own. A trial that was given up is then no evaluation.
    """
    trials = storage.get_all_trials(study_id, deepcopy=False)
    here = trials[number] if number < len(trials) else None
    same_point = here is not None and here.params == evaluation.params
    told = here is not None and (here.state, here.values) == (evaluation.state, evaluation.values)
    if told and same_point:
        return False
    if any(optuna_private.trial_note(trial, LATE) == number for trial in trials):
        return False
    if here is not None and same_point and here.state == TrialState.RUNNING:
        return _told(storage, here, evaluation)
    for trial in trials:
        queued = trial.state == TrialState.WAITING and number in optuna_private.begun_again(trial)
        trial_id = optuna_private.trial_id(trial)
        if queued and storage.set_trial_state_values(trial_id, TrialState.RUNNING):
            storage.set_trial_system_attr(trial_id, LATE, number)
            return _told(storage, trial, evaluation)
    template = copy.copy(evaluation)
    notes = {**optuna_private.notes(evaluation), LATE: number}
    if here is not None and here.state == TrialState.FAIL:
        notes = optuna_private.as_repetition(notes, number)
    optuna_private.set_notes(template, notes)
    storage.create_new_trial(study_id, template)
    return True


def _told(storage: BaseStorage, trial: FrozenTrial, evaluation: FrozenTrial) -> bool:
    """Tell an evaluation as the outcome of a running trial."""
    trial_id = optuna_private.trial_id(trial)
    for name, distribution in evaluation.distributions.items():
        if name not in trial.params:
            internal = distribution.to_internal_repr(evaluation.params[name])
            storage.set_trial_param(trial_id, name, internal, distribution)
    for step, value in evaluation.intermediate_values.items():
        storage.set_trial_intermediate_value(trial_id, step, value)
    for key, attribute in evaluation.user_attrs.items():
        storage.set_trial_user_attr(trial_id, key, attribute)
    return storage.set_trial_state_values(trial_id, evaluation.state, evaluation.values)
