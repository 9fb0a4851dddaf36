"""The terminal: where commands print, show progress, and how they end when something is wrong."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(markup=False, highlight=False)  # file names are not markup
errors = Console(markup=False, highlight=False, stderr=True)


def progress_bar() -> Progress:
    """Return a bar that shows how much of how many is done, and how long the rest may take."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def fail(message: str) -> NoReturn:
    """Say what is wrong and end the command."""
    errors.print(f"Error: {message}", style="red")
    raise typer.Exit(1)
