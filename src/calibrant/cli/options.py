"""Options that several commands take: said in the same words wherever they mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Storage = Annotated[
    str,
    typer.Argument(help="Where the study is stored: sqlite:///study.db, or the file study.db."),
]
STUDY = ("--study", "--study-name")  # Optuna says the second
StudyName = Annotated[
    str | None, typer.Option(*STUDY, help="Name of the study, if the storage holds several.")
]
Jobs = Annotated[int, typer.Option(help="Programs to run at the same time.")]
Logs = Annotated[
    Path | None, typer.Option(help="Folder in which the output of each trial is kept.")
]
Maximize = Annotated[bool, typer.Option("--maximize", help="Higher is better.")]
Names = Annotated[str, typer.Option(help="The column with the names of the candidates.")]
Report = Annotated[Path | None, typer.Option(help="HTML report to write.")]
Seed = Annotated[int | None, typer.Option(help="Seed of all random choices.")]
