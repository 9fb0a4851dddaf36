"""The commands with which to go on: what runs a study again, from any folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from optuna.study import Study

from calibrant.cli.inputs import split_earlier
from calibrant.studies.budget import Budget
from calibrant.studies.runner import evaluated
from calibrant.studies.storage import hidden

_DEFAULTS = {"--storage": "sqlite:///calibrant.db", "--study": "calibrant"}


def command_line(options: Mapping[str, object], program: list[str]) -> list[str]:
    """Return the command that runs the same study, without what is the default."""
    words = ["calibrant", "tune"]
    for name, value in options.items():
        if value is None or value is False or _DEFAULTS.get(name) == value:
            continue
        if value is True:
            words.append(name)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [name, str(one)]
    return [*words, "--", *program]


def twice_as_far(study: Study, total: int, purse: Budget | None) -> dict[str, object]:
    """Return the options that go on with a study that has ended: twice as far."""
    if purse is None:
        return {"--trials": total if evaluated(study) < total else 2 * total}
    return {"--budget": f"{2.0 * purse.most:g}{'s' if purse.is_time else ''}"}


def ways_on(go_on: list[str], storage: str, study_name: str) -> list[tuple[str, str]]:
    """Return the commands with which to go on, each with its purpose."""
    name = [] if study_name == "calibrant" else ["--study", study_name]
    look = ["calibrant", "report", storage, *name]
    watch = ["optuna-dashboard", storage]
    ways = {"Go on": go_on, "Report": look, "Watch": watch}
    return [(purpose, shlex.join(command)) for purpose, command in ways.items()]


def found_again(text: str) -> str:
    """Return an earlier study as another process finds it, from any folder, without a password."""
    storage, name = split_earlier(text)
    file = storage.removeprefix("sqlite:///")
    place = f"sqlite:///{Path(file).resolve()}" if Path(file).is_file() else hidden(storage)
    return place if name is None else f"{place}::{name}"
