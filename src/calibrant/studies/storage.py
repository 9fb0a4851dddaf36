"""Where studies are kept, and what is left of them when that place disappears."""

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
_HEARTBEAT = 60  # seconds between signs of life of a worker
_GRACE = 180  # seconds without one after which its trial is given to another
_RETRIES = 3  # of a trial whose worker died: the setting itself may be what kills them
_SQLITE_WAIT = 60  # seconds to wait for another process to finish writing to SQLite


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
    parts = storage.split(_SCHEMA)  # which Optuna fills in; all other braces are the path's
    options = {"connect_args": {"timeout": _SQLITE_WAIT}} if storage.startswith("sqlite") else {}
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)  # of heartbeats, since Optuna 2.5
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
    """Return the storage's own complaint behind an error, if the storage is gone.

    Optuna may fail an assertion of its own while it handles the storage's error, so it is looked
    for behind the error as well; and storages of other kinds are simply tried.
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
    """Return a copy of a study, in memory, with the given trials."""
    copy = optuna.create_study(study_name=study.study_name, directions=study.directions)
    copy.add_trials(trials)
    return copy


def save_rescued(study: Study, folder: Path) -> Path:
    """Write a study's trials to a new SQLite file in a folder, and return where."""
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
