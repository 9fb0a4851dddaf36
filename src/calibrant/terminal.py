"""The terminal: where commands print, and how they end when something is wrong."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

console = Console(markup=False, highlight=False)  # file names are not markup
errors = Console(markup=False, highlight=False, stderr=True)


def fail(message: str) -> NoReturn:
    """Say what is wrong and end the command."""
    errors.print(f"Error: {message}", style="red")
    raise typer.Exit(1)
