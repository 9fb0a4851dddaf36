"""Opening the storage of a study, and rescuing its trials when the storage is lost."""

from __future__ import annotations

import copy
import itertools
import os
import random
import re
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, GrpcStorageProxy, JournalStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.core import validate
from calibrant.studies import optuna_private
from calibrant.studies.journal import journal
from calibrant.studies.late import LATE, bring_home
from calibrant.studies.steady import SteadyStorage, is_reading

_SCHEMA = "{SCHEMA_VERSION}"
_HEARTBEAT = 60  # seconds between a worker's heartbeats
_GRACE = 180  # seconds without a heartbeat after which another worker takes over the trial
_PATIENCE = 300.0  # seconds: a database is restarted, a network put right
_SQLITE_WAIT = 60  # seconds to wait for another process to finish writing to SQLite
_CONNECT_WAIT = 10  # seconds to wait for a server that does not answer
_STARTS = 12  # attempts at an empty database that others are setting up
_RACE = re.compile(r"already exists|duplicate key|UNIQUE constraint|concurrently|deadlock|locked")


class StorageLost(RuntimeError):
    """The error raised when the storage of a study is lost; ``study`` holds its evaluations.

    Args:
        message: what happened.
        study: a copy in memory, with all evaluations.
    """

    def __init__(self, message: str, study: Study) -> None:
        super().__init__(message)
        self.study = study


def open_storage(
    storage: str | BaseStorage | None,
    *,
    heartbeat: int | None = None,
    patience: float | None = None,
) -> BaseStorage | None:
    """Return the storage of a URL, made to survive outages and killed workers.

    >>> from calibrant import open_storage
    >>> import optuna, calibrant
    >>> study = optuna.create_study(
    ...     storage=open_storage("sqlite:///:memory:"), sampler=calibrant.CalibratedSampler()
    ... )

    Workers renew the heartbeats of their trials, and take over the trials of dead workers. An
    operation that fails because the storage cannot be reached is tried again.

    Args:
        storage: ``sqlite:///study.db``, ``postgresql://user@host/name`` or another database that
            SQLAlchemy knows, ``journal:///study.log`` for a file on a disk that machines share, or
            ``grpc://host:port`` for Optuna's proxy. Anything but a URL is returned as it is.
        heartbeat: seconds between two heartbeats, by default 60. After three times as long without
            one, a trial is taken over by another worker.
        patience: seconds for which operations are tried again, by default 300.
    """
    if not isinstance(storage, str):
        return storage
    kind, separator, rest = storage.partition("://")
    if not separator:
        raise ValueError(
            f"`storage` must be a URL such as sqlite:///study.db, but got {storage!r}."
        )
    beat = _HEARTBEAT if heartbeat is None else validate.at_least("heartbeat", heartbeat, 1)
    try:
        match kind:
            case "journal":
                inside: BaseStorage = _journal(rest)
            case "grpc":
                inside = _proxy(rest)
            case _:
                inside = _database(storage)
    except Exception as error:
        if not _is_complaint(error):
            raise
        raise ValueError(f"The storage {hidden(storage)} cannot be opened: {_why(error)}") from None
    waits = _PATIENCE if patience is None else patience
    return SteadyStorage(inside, beat, round(beat * _GRACE / _HEARTBEAT), waits)


def hidden(url: str) -> str:
    """Return a URL without its password, to be shown."""
    if url.startswith(("sqlite", "journal")):
        return url
    shown = re.sub(r"(://[^/?#@:]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&#]*", r"\1***", shown)


def _database(url: str) -> BaseStorage:
    parts = url.split(_SCHEMA)  # Optuna fills this in; all other braces belong to the path
    template = _SCHEMA.join(part.replace("{", "{{").replace("}", "}}") for part in parts)
    options = _engine_options(url)
    for attempt in itertools.count():
        try:
            database = RDBStorage(template, engine_kwargs=options)
            if url.startswith("sqlite") and not _in_memory(url):
                _isolate(database)
            return optuna_private.cached(database)
        except Exception as error:
            # Several workers that find no tables all create them, and all but one fail.
            if attempt == _STARTS or not _RACE.search(_why(error)):
                raise
        time.sleep(random.uniform(0.05, 0.2) * 1.5**attempt)
    raise AssertionError("a loop without an end has ended")


def _isolate(database: RDBStorage) -> None:
    """Make transactions of SQLite whole: what is read at their beginning still holds at their end.

    Python's driver begins a transaction with the first write only. Two workers would both find a
    trial in the queue, and both take it.
    """
    from sqlalchemy import event

    @event.listens_for(database.engine, "connect")
    def connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # the driver is not to begin any by itself

    @event.listens_for(database.engine, "begin")
    def begin(connection: Any) -> None:
        # At once as one that writes: two that read first and then both write could not both go on.
        # What only reads need not wait its turn, and does not hold up heartbeats.
        connection.exec_driver_sql("BEGIN" if is_reading() else "BEGIN IMMEDIATE")

    database.engine.dispose()  # the connections made so far


def _engine_options(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        if not _in_memory(url):
            _check_file(_file(url))
        return {"connect_args": {"timeout": _SQLITE_WAIT}}
    # One connection a process is kept, as a server has but a hundred; each is tried before use.
    options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 1, "max_overflow": -1}
    if re.match(r"postgresql(\+psycopg2?)?://", url):
        options["connect_args"] = {"connect_timeout": _CONNECT_WAIT}
    return options


def _file(url: str) -> Path:
    return Path(url.partition(":///")[2].partition("?")[0])


def _in_memory(url: str) -> bool:
    """Whether a database is gone with its connection, and so nobody else's."""
    return str(_file(url)) in (".", ":memory:")


def _check_file(path: Path) -> None:
    """Raise if a database cannot be written to; SQLite itself finds out only later."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")
    for needed in (path, path.parent):  # a journal is written beside the database
        if needed.exists() and not os.access(needed, os.W_OK):
            raise PermissionError(f"{needed} cannot be written to, and a study has to be.")


def _journal(rest: str) -> BaseStorage:
    path = Path(rest.removeprefix("/"))
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(f"`journal:///{path}` must name a file in a folder that exists.")
    return JournalStorage(journal(str(path)))


def _proxy(rest: str) -> BaseStorage:
    host, _, port = rest.strip("/").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"A proxy is written grpc://host:port, not {hidden(f'grpc://{rest}')}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        proxy = GrpcStorageProxy(host=host, port=int(port))
    try:
        proxy.wait_server_ready(timeout=_CONNECT_WAIT)
    except ConnectionError:
        proxy.close()
        raise ConnectionError(f"no proxy answers there within {_CONNECT_WAIT} s.") from None
    return proxy


def _is_complaint(error: Exception) -> bool:
    """Return whether an error is about the storage, and not about the code that opens it."""
    from sqlalchemy.exc import SQLAlchemyError

    kinds = (SQLAlchemyError, StorageInternalError, ImportError, OSError, RuntimeError, ValueError)
    return isinstance(error, kinds)


def _why(error: BaseException) -> str:
    """Return the reason of an error in one line."""
    behind = error.__cause__ or error
    if isinstance(behind, ImportError) and behind.name:
        return f"it needs the package that holds `{behind.name}`; install it with pip."
    return (str(behind).strip() or type(behind).__name__).splitlines()[0]


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
    rescue = optuna.create_study(study_name=study.study_name, directions=study.directions)
    for trial in trials:
        numbered = copy.copy(trial)
        optuna_private.set_notes(numbered, {LATE: trial.number, **optuna_private.notes(trial)})
        rescue.add_trial(numbered)
    return rescue


def merge(study: Study, rescue: Study) -> int:
    """Bring rescued evaluations home to their study; return how many were not there yet.

    Those that have come home before, or were told after all, are left out, however often it is
    done.
    """
    if study.directions != rescue.directions:
        raise ValueError("The two studies must have the same objectives and directions.")
    storage, study_id = optuna_private.storage_of(study)
    count = 0
    for trial in rescue.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        number = optuna_private.trial_note(trial, LATE)
        if isinstance(number, int):
            count += bring_home(storage, study_id, number, trial)
            continue
        # Made after the rescue, in the file itself: known by what it is.
        known = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not any(t.params == trial.params and t.values == trial.values for t in known):
            study.add_trial(trial)
            count += 1
    return count


def save_rescued(study: Study, folder: Path) -> Path:
    """Write the trials of a study to a new SQLite file in a folder, and return its path."""
    stem = re.sub(r"\W+", "-", study.study_name) or "study"
    for number in itertools.count():
        path = folder / f"rescued-{stem}{f'-{number}' if number else ''}.db"
        with suppress(FileExistsError):  # of another worker; nobody else may read what is rescued
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            break
    saved = optuna.create_study(
        storage=f"sqlite:///{path}", study_name=study.study_name, directions=study.directions
    )
    saved.add_trials(study.trials)
    return path
