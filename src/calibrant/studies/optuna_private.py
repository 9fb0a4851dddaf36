"""Optuna's private names: all that calibrant uses of them, and nothing else does.

Optuna keeps a study's storage and ids private, hides a sampler's own attributes of a trial behind
``system_attrs``, and has no public way to ask whether a distribution has a value. What each
function here relies on is held in ``tests/studies/test_optuna_private.py`` against the installed
version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import PartialFixedSampler
from optuna.storages import BaseStorage, get_storage
from optuna.storages._heartbeat import BaseHeartbeat, is_heartbeat_enabled
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

TRIED_WITH = ("5.0.0",)  # versions of Optuna

Heartbeat = BaseHeartbeat  # what makes Optuna's loop renew heartbeats, and look for dead workers


def storage_of(study: Study) -> tuple[BaseStorage, int]:
    """Return where a study is kept, and its id there."""
    return study._storage, study._study_id


def cached(storage: BaseStorage) -> BaseStorage:
    """Return a storage with Optuna's cache of finished trials, where it has one for its kind."""
    return get_storage(storage)


def has_heartbeats(study: Study) -> bool:
    """Return whether a study's storage takes note of workers that die."""
    return is_heartbeat_enabled(study._storage)


def trial_id(trial: FrozenTrial) -> int:
    """Return a trial's id, by which its storage knows it."""
    return trial._trial_id


def every_trial(study: Study, states: tuple[TrialState, ...] | None = None) -> list[FrozenTrial]:
    """Return all trials of a study, where Hyperband shows a sampler those of one bracket."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False, states=states)


def study_note(study: Study, key: str) -> Any:
    """Return what the sampler has noted about a study, or None."""
    return study._storage.get_study_system_attrs(study._study_id).get(key)


def note_study(study: Study, key: str, value: Any) -> None:
    """Note something about a study, where every worker's sampler can read it."""
    study._storage.set_study_system_attr(study._study_id, key, value)


def user_attributes(study: Study) -> dict[str, Any]:
    """Return a study's user attributes, also where Hyperband hides them from a sampler."""
    return study._storage.get_study_user_attrs(study._study_id)


def trial_note(trial: FrozenTrial, key: str) -> Any:
    """Return what the sampler has noted about a trial, or None."""
    return trial.system_attrs.get(key)


def note_trial(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Note something about a trial, before its objective runs."""
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def notes_of(study: Study, trial: Trial) -> dict[str, Any]:
    """Return all that Optuna and the sampler have noted about a running trial."""
    return dict(study._storage.get_trial_system_attrs(trial._trial_id))


def notes(trial: FrozenTrial) -> dict[str, Any]:
    """Return all that Optuna and the sampler have noted about a trial."""
    return dict(trial.system_attrs)


def set_notes(trial: FrozenTrial, notes: Mapping[str, Any]) -> None:
    """Replace the notes of a trial that is not stored yet."""
    trial.system_attrs = dict(notes)


def as_repetition(notes: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the notes of a trial that takes the place of a dead worker's."""
    repeats = [*notes.get("retry_history", ()), number]
    return {**notes, "failed_trial": notes.get("failed_trial", number), "retry_history": repeats}


def fixed_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the parameters that were given when the trial was enqueued."""
    given = trial.system_attrs.get("fixed_params")
    return dict(given) if isinstance(given, Mapping) else {}


def fixed_by_sampler(study: Study) -> dict[str, Any]:
    """Return the parameters that Optuna's ``PartialFixedSampler`` fixes, if it is the study's."""
    sampler = getattr(study, "sampler", None)  # Hyperband hides it
    return dict(sampler._fixed_params) if isinstance(sampler, PartialFixedSampler) else {}


def set_attribute(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Set a user attribute of a trial whose parameters are being chosen."""
    study._storage.set_trial_user_attr(trial._trial_id, key, value)
    trial.user_attrs[key] = value  # what the objective sees is a copy made before


def begun_again(trial: FrozenTrial) -> list[int]:
    """Return the numbers of trials of dead workers that this one repeats."""
    numbers = trial.system_attrs.get("retry_history")
    return [n for n in numbers if isinstance(n, int)] if isinstance(numbers, list) else []


def contains(distribution: BaseDistribution, value: float) -> bool:
    """Return whether an internal value is one of a distribution's."""
    return distribution._contains(value)


def stop(study: Study) -> None:
    """Let no other trial start, whichever thread asks; ``Study.stop`` may only be called in one."""
    study._stop_flag = True


def stopped(study: Study) -> bool:
    """Return whether someone has stopped the loop that ran last."""
    return bool(study._stop_flag)


@contextmanager
def stoppable(study: Study) -> Iterator[None]:
    """Let callbacks call ``study.stop()`` in a loop that is not Optuna's own."""
    study._stop_flag = False
    study._thread_local.in_optimize_loop = True
    try:
        yield
    finally:
        study._thread_local.in_optimize_loop = False


def set_constraints(study: Study, number: int, constraints: Mapping[str, float]) -> None:
    """Set the constraint values of a trial that runs elsewhere."""
    known = create_trial(value=0.0, constraints=dict(constraints)).system_attrs
    for key, value in known.items():
        study._storage.set_trial_system_attr(_id(study, number), key, value)


def report(study: Study, number: int, value: float, step: int) -> None:
    """Report an intermediate value of a trial that runs elsewhere."""
    study._storage.set_trial_intermediate_value(_id(study, number), step, value)


def set_user_attribute(study: Study, number: int, key: str, value: Any) -> None:
    """Set a user attribute of a trial that runs elsewhere."""
    study._storage.set_trial_user_attr(_id(study, number), key, value)


def _id(study: Study, number: int) -> int:
    return study.get_trials(deepcopy=False)[number]._trial_id
