"""``python -m benchmarks.paper``: run the paper's experiments, and write the page of them.

python -m benchmarks.paper sixhump conformal   # what is missing of some tables and figures
python -m benchmarks.paper all --no-run        # only the page, from the results in the repository
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.kit.running import INTERRUPTED
from benchmarks.paper.experiments import ALL, EXPERIMENTS, repetitions
from benchmarks.paper.page import draw_pictures, write_page
from benchmarks.paper.records import Records
from benchmarks.paper.run import missing_data, run_missing
from benchmarks.paper.sections import costs, sections
from calibrant.cli.terminal import EXIT_INTERRUPTED, console, errors, fail, progress_bar

_ALL = "all"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help=f"{', '.join(EXPERIMENTS)}; or all."),
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Where results and pages are; what is there is not run again.")
    ] = Path(__file__).parent,
    count: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=1,
            help="Of each search; unless given, as many as each experiment wants.",
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
    left_out: list[str] = []
    try:
        records = Records(folder / "results")
        for name in names if run else []:
            left_out += _run(name, records, count, jobs)
        written = sections(records)  # all there is in the folder, so that nothing leaves the page
        if not written:
            fail(" ".join([*left_out, f"There are no results in {folder / 'results'} to show."]))
        if pictures:
            draw_pictures(written, folder)
        page = write_page([*written, costs(records)], folder)
    except typer.Exit:  # a RuntimeError too, and what it had to say has been said
        raise
    except KeyboardInterrupt:
        errors.print(INTERRUPTED)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        fail(str(error))
    for section in written:
        if section.name in names:
            console.print(f"{section.name}: {section.verdict.replace('**', '') or section.title}")
    console.print(f"Wrote {page} and {folder / 'README.md'}.")
    for message in left_out:
        errors.print(message, style="yellow")
    if left_out and _ALL not in (experiments or []):
        raise typer.Exit(1)


def _chosen(experiments: list[str]) -> list[str]:
    known = [*EXPERIMENTS, _ALL]
    if not experiments or any(name not in known for name in experiments):
        got = f"but got {' '.join(experiments)}" if experiments else "but got none"
        fail(f"Experiments must be of {', '.join(known)}, {got}.")
    return ALL if _ALL in experiments else experiments


def _run(name: str, records: Records, count: int | None, jobs: int) -> list[str]:
    """Run what is missing of an experiment, and return what had to be left out."""
    wanted = list(dict.fromkeys(repetitions(name, count)))
    lacking = missing_data({one.setup.task for one in records.missing(wanted)})
    wanted = [one for one in wanted if one.setup.task not in lacking]
    left_out = [f"Left out {task}: {error}" for task, error in lacking.items()]
    with progress_bar() as progress:
        bar = progress.add_task(name, total=len(wanted))
        try:
            run_missing(records, wanted, jobs, lambda done, _: progress.update(bar, completed=done))
        except ImportError as error:  # of a recalibrator, say: the other experiments need not
            left_out.append(f"Left out the rest of {name}: {error}")
    return left_out


if __name__ == "__main__":
    app()
