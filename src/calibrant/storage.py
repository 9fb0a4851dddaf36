"""Where studies are kept, and what is left of them when that place disappears."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import FrozenTrial

_HEARTBEAT = 60  # seconds between signs of life of a worker
_GRACE = 180  # seconds without one after which its trial is given to another
_RETRIES = 3  # of a trial whose worker died: the setting itself may be what kills them
_PATIENCE = 60  # seconds to wait for another process to finish writing to SQLite


class StorageLost(RuntimeError):
    """The storage cannot be used any more; ``study`` holds, in memory, all that was evaluated."""

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


def open_storage(storage: str | BaseStorage | None) -> BaseStorage | None:
    """Return the storage behind a URL, with trials of killed workers given to others."""
    if not isinstance(storage, str):
        return storage
    if "://" not in storage:
        raise ValueError(
            f"A storage is written as a URL such as sqlite:///study.db, but got {storage!r}."
        )
    options = {"connect_args": {"timeout": _PATIENCE}} if storage.startswith("sqlite") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # of heartbeats, in Optuna since 2.5
        return RDBStorage(
            storage,
            engine_kwargs=options,
            heartbeat_interval=_HEARTBEAT,
            grace_period=_GRACE,
            heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=_RETRIES),
        )


def lost(error: BaseException | None) -> BaseException | None:
    """Return the storage's own complaint behind an error, if there is one.

    Optuna may fail an assertion of its own while it handles it.
    """
    from sqlalchemy.exc import SQLAlchemyError  # Optuna loads it with its first database

    while error is not None:
        if isinstance(error, (StorageInternalError, SQLAlchemyError)):
            return error.__cause__ or error
        error = error.__cause__ or error.__context__
    return None


def rescued(study: Study, trials: Sequence[FrozenTrial]) -> Study:
    """Return a copy of a study, in memory, with the given trials."""
    copy = optuna.create_study(study_name=study.study_name, directions=study.directions)
    copy.add_trials(trials)
    return copy


def copy_study(study: Study, storage: str) -> None:
    """Write a study's trials to another storage."""
    copy = optuna.create_study(
        storage=storage,
        study_name=study.study_name,
        directions=study.directions,
        load_if_exists=True,
    )
    copy.add_trials(study.trials)
