"""Opening a study that is already there, to look at it."""

from __future__ import annotations

from pathlib import Path

import optuna
from optuna.study import Study

from calibrant.studies.runner import quiet_optuna
from calibrant.studies.storage import hidden, open_storage

_SQLITE = "sqlite:///"
_LISTED = 8  # names of studies that a message lists


def load_study(storage: str, study_name: str | None = None, how: str = "with --study") -> Study:
    """Return a stored study.

    Args:
        storage: a URL such as ``sqlite:///study.db``, or the path of an SQLite file.
        study_name: its name; not needed where the storage holds only one.
        how: a message says to name it, where it holds several.

    Raises:
        ValueError: if there is no such file or study, or if it is not clear which one is meant.
    """
    url = storage if "://" in storage else f"{_SQLITE}{storage}"
    path = Path(url.removeprefix(_SQLITE).partition("?")[0])
    # SQLite would create what is not there, and the answer would be an empty study.
    if url.startswith(_SQLITE) and not path.is_file():
        raise ValueError(f"There is no file {path}: give the storage that the study was made with.")
    opened = open_storage(url)
    assert opened is not None  # as a URL was given
    with quiet_optuna():
        names = sorted(summary.study_name for summary in optuna.get_all_study_summaries(opened))
        if study_name is None and len(names) == 1:
            (study_name,) = names
        if not names:
            raise ValueError(f"{hidden(storage)} holds no study.")
        listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
        if study_name is None:
            raise ValueError(
                f"{hidden(storage)} holds {len(names)} studies ({listed}): name one {how}."
            )
        if study_name not in names:
            raise ValueError(f"{hidden(storage)} has no study {study_name!r}; it has {listed}.")
        return optuna.load_study(study_name=study_name, storage=opened)
