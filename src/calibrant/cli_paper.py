"""``calibrant paper``: parsing and printing only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrant.paper.experiments import ALL, EXPERIMENTS, repetitions
from calibrant.paper.page import draw_pictures, write_page
from calibrant.paper.records import Records
from calibrant.paper.run import run_missing
from calibrant.paper.sections import sections
from calibrant.terminal import console, errors, fail

_ALL = "all"
_INTERRUPTED = 130  # the exit code of a program that Ctrl-C has ended


def paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help=f"{', '.join(EXPERIMENTS)}; or all."),
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Where results and pages are; what is there is not run again.")
    ] = Path("paper"),
    count: Annotated[
        int | None,
        typer.Option(
            "--repetitions", min=1, help="Of each search; by default 30, 200 on tables, 5 or 7."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Searches to run at the same time.")
    ] = os.cpu_count() or 1,
    run: Annotated[
        bool, typer.Option(help="Run what is missing; or only write the pages anew.")
    ] = True,
    pictures: Annotated[
        bool, typer.Option(help="Draw PNG files for README.md (needs kaleido and Chrome).")
    ] = False,
) -> None:
    """Run the paper's experiments again and show its numbers beside ours."""
    names = _chosen(experiments or [])
    try:
        records = Records(folder / "results")
        if run:
            for name in names:
                _run(name, records, count, jobs, skip=_ALL in (experiments or []))
        written = sections(records, names)
        if not written:
            fail(f"There are no results of {', '.join(names)} in {folder / 'results'} to show.")
        page = write_page(written, folder)
        if pictures:
            draw_pictures(written, folder)
    except KeyboardInterrupt:
        errors.print("Interrupted. Finished searches are kept; run the same again to go on.")
        raise typer.Exit(_INTERRUPTED) from None
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        fail(str(error))
    for section in written:
        console.print(f"{section.name}: {section.verdict.replace('**', '') or section.title}")
    console.print(f"Wrote {page} and {folder / 'README.md'}.")


def _chosen(experiments: list[str]) -> list[str]:
    known = [*EXPERIMENTS, _ALL]
    if not experiments or any(name not in known for name in experiments):
        got = f"but got {' '.join(experiments)}" if experiments else "but got none"
        fail(f"Experiments must be of {', '.join(known)}, {got}.")
    return ALL if _ALL in experiments else experiments


def _run(name: str, records: Records, count: int | None, jobs: int, skip: bool) -> None:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    wanted = list(repetitions(name, count))
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(name, total=len(set(wanted)))
            run_missing(
                records, wanted, jobs, lambda done, _: progress.update(task, completed=done)
            )
    except (ImportError, FileNotFoundError) as error:
        if not skip:
            raise
        errors.print(f"Left out {name}: {error}", style="yellow")
