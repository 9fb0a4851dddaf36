"""``calibrant outlook``: whether more trials of a stored study are worth it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import check_writable, console, fail
from calibrant.decisions import outlook as look_ahead
from calibrant.decisions.outlook import TRIALS
from calibrant.studies.loading import load_study


def outlook(
    storage: Storage,
    study: StudyName = None,
    trials: Annotated[int, typer.Option(help="Trials to look ahead.")] = TRIALS,
    min_gain: Annotated[
        float | None,
        typer.Option(
            help="The improvement worth having; by default a tenth of the interquartile range of "
            "the outcomes so far."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="HTML file for a figure of the best value to come.")
    ] = None,
) -> None:
    """Say what more trials of a study would bring: is it worth going on?"""
    try:
        check_writable(figure)
        ahead = look_ahead(load_study(storage, study), trials, min_gain)
        for sentence in ahead.sentences():
            console.print(sentence)
        if figure is not None:
            ahead.figure().write_html(figure, include_plotlyjs=True)
            console.print(f"Figure: {figure}")
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))
