"""Opening the storage of a study, and rescuing its trials when the storage is lost."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import FrozenTrial

_SCHEMA = "{SCHEMA_VERSION}"
_HEARTBEAT = 60  # seconds between a worker's heartbeats
_GRACE = 180  # seconds without a heartbeat after which another worker takes over the trial
_RETRIES = 3  # of a trial whose worker died, because the setting itself may kill workers
_SQLITE_WAIT = 60  # seconds to wait for another process to finish writing to SQLite


class StorageLost(RuntimeError):
    """The storage of a study was lost; ``study`` holds all its evaluations, in memory."""

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


def open_storage(storage: str | BaseStorage | None) -> BaseStorage | None:
    """Return the storage of a URL, set up so that trials of killed workers are retried."""
    if not isinstance(storage, str):
        return storage
    if "://" not in storage:
        raise ValueError(
            f"`storage` must be a URL such as sqlite:///study.db, but got {storage!r}."
        )
    parts = storage.split(_SCHEMA)  # Optuna fills this in; all other braces belong to the path
    options = {"connect_args": {"timeout": _SQLITE_WAIT}} if storage.startswith("sqlite") else {}
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # heartbeats, since Optuna 2.5
            return RDBStorage(
                _SCHEMA.join(part.replace("{", "{{").replace("}", "}}") for part in parts),
                engine_kwargs=options,
                heartbeat_interval=_HEARTBEAT,
                grace_period=_GRACE,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=_RETRIES),
            )
    except (SQLAlchemyError, ImportError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise ValueError(f"The storage {storage} cannot be opened: {reason}") from error


def lost(study: Study, error: BaseException) -> BaseException | None:
    """Return the storage's own error behind an exception, or None if the storage still works.

    Optuna may fail an assertion while it handles the storage's error, so the chain of causes is
    searched too. If that finds nothing, the storage is tried.
    """
    from sqlalchemy.exc import SQLAlchemyError  # Optuna loads it with its first database

    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, (StorageInternalError, SQLAlchemyError)):
            return behind.__cause__ or behind
        behind = behind.__cause__ or behind.__context__
    try:
        study.get_trials(deepcopy=False)
    except Exception as complaint:
        return complaint
    return None


def rescued(study: Study, trials: Sequence[FrozenTrial]) -> Study:
    """Return an in-memory copy of a study with the given trials."""
    copy = optuna.create_study(study_name=study.study_name, directions=study.directions)
    copy.add_trials(trials)
    return copy


def save_rescued(study: Study, folder: Path) -> Path:
    """Write the trials of a study to a new SQLite file in a folder, and return its path."""
    stem = re.sub(r"\W+", "-", study.study_name) or "study"
    path = next(
        path
        for number in itertools.count()
        if not (path := folder / f"rescued-{stem}{f'-{number}' if number else ''}.db").exists()
    )
    copy = optuna.create_study(
        storage=f"sqlite:///{path}", study_name=study.study_name, directions=study.directions
    )
    copy.add_trials(study.trials)
    return path
