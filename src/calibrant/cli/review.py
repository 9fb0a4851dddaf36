"""``calibrant review``: how often what was said of a stored study came true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import check_writable, console, fail
from calibrant.decisions import review as look_back
from calibrant.studies.front_review import review_front
from calibrant.studies.loading import load_study


def review(
    storage: Storage,
    study: StudyName = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="HTML file for a figure of stated probabilities against what happened."),
    ] = None,
) -> None:
    """Say how often each kind of prediction about a study came true."""
    try:
        check_writable(figure)
        known = load_study(storage, study)
        if len(known.directions) == 1:
            found = look_back(known)
            console.print(str(found))
            if figure is not None:
                found.figure().write_html(figure, include_plotlyjs=True)
                console.print(f"Figure: {figure}")
            return
        if figure is not None:
            raise ValueError(
                f"--figure needs a single objective, but the study has {len(known.directions)}; "
                "leave it out, or see `calibrant report`."
            )
        console.print(str(review_front(known)))
    except (ValueError, OSError) as error:
        fail(str(error))
