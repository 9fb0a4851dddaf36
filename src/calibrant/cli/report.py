"""``calibrant report``: the page of a stored study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli.options import Storage, StudyName
from calibrant.cli.terminal import check_writable, console, fail
from calibrant.reporting import report as write_report
from calibrant.studies.loading import load_study


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
