"""The terminal: where commands print, show progress, and how they end when something is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(markup=False, highlight=False)  # file names are not markup
errors = Console(markup=False, highlight=False, stderr=True)

EXIT_INTERRUPTED = 130  # the exit code of a program that Ctrl-C has ended


def progress_bar() -> Progress:
    """Return a bar that shows how much of how many is done, and how long the rest may take."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def check_writable(path: Path | None) -> None:
    """Raise if a file cannot be written there: better before the work than after it."""
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"The folder of {path} does not exist: create it first.")
    if path is not None and path.is_dir():
        raise ValueError(f"A file is to be written, but {path} is a folder.")


def fail(message: str) -> NoReturn:
    """Say what is wrong and end the command."""
    errors.print(f"Error: {message}", style="red")
    raise typer.Exit(1)
