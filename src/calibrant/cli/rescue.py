"""Evaluations of a storage that was lost: saved in a file, and brought home: `calibrant merge`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.options import StudyName
from calibrant.cli.terminal import console, errors, fail
from calibrant.studies.loading import load_study
from calibrant.studies.storage import StorageLost, hidden, save_rescued
from calibrant.studies.storage import merge as bring_home


def save(error: StorageLost) -> str:
    """Save the evaluations of a lost storage; as a last resort, print them."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            path = save_rescued(error.study, folder)
            return f"They are saved in {path}; `calibrant merge {path}` brings them home."
        except Exception as reason:  # whatever went wrong, try the next place
            errors.print(f"They cannot be saved in {folder}: {str(reason).splitlines()[0]}")
    for trial in error.study.trials:
        console.print_json(json.dumps({"value": trial.value, "params": trial.params}, default=str))
    return "They are printed above."


def merge(
    rescued: Annotated[
        list[Path], typer.Argument(help="Files of rescued evaluations, as `rescued-study.db`.")
    ],
    storage: Annotated[
        str,
        typer.Option(envvar="CALIBRANT_STORAGE", help="Where the study is stored."),
    ] = "sqlite:///calibrant.db",
    study_name: StudyName = None,
) -> None:
    """Add evaluations rescued from a lost storage to their study, each exactly once."""
    try:
        study = load_study(storage, study_name)
        for path in rescued:
            rescue = load_study(f"sqlite:///{path}")
            if rescue.study_name != study.study_name:
                raise ValueError(
                    f"{path} holds evaluations of `{rescue.study_name}`, not of "
                    f"`{study.study_name}`; name the study with --study."
                )
            count, total = bring_home(study, rescue), len(rescue.trials)
            console.print(
                f"{path}: {count} of {total} evaluations were not in {hidden(storage)}, and are "
                "now.",
                soft_wrap=True,
            )
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))
