"""``calibrant explain``: why a trial was worth evaluating."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import fail, say
from calibrant.decisions.explain import explain as explained
from calibrant.studies.loading import load_study


def explain(
    storage: Storage,
    trial: Annotated[int, typer.Option(help="The number of the trial.")],
    study: StudyName = None,
) -> None:
    """Say why a trial was chosen: what the model expected of it before it ran."""
    try:
        told = explained(load_study(storage, study), trial)
    except ValueError as error:
        fail(str(error))
    for line in str(told).splitlines():
        say(line)
