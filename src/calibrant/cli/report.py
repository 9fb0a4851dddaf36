"""``calibrant report``: the page of a stored study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.terminal import check_writable, console, fail
from calibrant.reporting import report as write_report
from calibrant.studies.loading import load_study

Storage = Annotated[
    str,
    typer.Argument(help="Where the study is stored: sqlite:///study.db, or the file study.db."),
]
StudyName = Annotated[
    str | None, typer.Option("--study", help="Name of the study, if the storage holds several.")
]


def report(
    storage: Storage,
    study: StudyName = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Write the report of a study: one page, also while it runs."""
    try:
        check_writable(output)
        console.print(f"Report: {write_report(load_study(storage, study), output)}")
    except (ValueError, OSError) as error:
        fail(str(error))
