"""The terminal: how commands print, show progress, and end with an error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

console = Console(markup=False, highlight=False)  # file names are not markup
errors = Console(markup=False, highlight=False, stderr=True)

EXIT_INTERRUPTED = 130  # the usual exit code of a program ended by Ctrl-C


def say(words: str, style: str = "") -> None:
    """Print prose: broken between words on a terminal, one line in a file.

    What follows a line that is indented is indented as far.
    """
    if not console.is_terminal:
        console.print(words, style=style, soft_wrap=True)
        return
    bare = words.lstrip(" ")
    console.print(Padding(Text(bare, style=style), (0, 0, 0, len(words) - len(bare))))


def progress_bar() -> Progress:
    """Return a bar that shows how many steps of how many are done, and the time left."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def check_writable(path: Path | None) -> None:
    """Raise if a file cannot be written to a path; called before the work, not after it."""
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"The folder of {path} does not exist: create it first.")
    if path is not None and path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file to write.")
    if path is not None and not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written to: choose another place.")


def fail(message: str) -> NoReturn:
    """Print an error message and end the command."""
    errors.print(f"Error: {message}", style="red")
    raise typer.Exit(1)
