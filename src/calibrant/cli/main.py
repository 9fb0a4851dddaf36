"""The command-line application, which combines the commands."""

from __future__ import annotations

from typing import Annotated

import typer

import calibrant
from calibrant.cli.decisions import forecast, recommend
from calibrant.cli.demo import demo
from calibrant.cli.explain import explain
from calibrant.cli.outlook import outlook
from calibrant.cli.programs import WithProgram
from calibrant.cli.publish import publish
from calibrant.cli.recalibrate import recalibrate
from calibrant.cli.report import report
from calibrant.cli.rescue import merge
from calibrant.cli.review import review
from calibrant.cli.suggest import suggest
from calibrant.cli.terminal import console
from calibrant.cli.tune import tune
from calibrant.cli.worker import worker

app = typer.Typer(
    help="Bayesian optimisation, and forecasts, whose error bars are true.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.command(cls=WithProgram)(tune)
app.command(cls=WithProgram)(worker)
app.command()(merge)
app.command()(outlook)
app.command()(suggest)
app.command()(explain)
app.command()(publish)
app.command()(report)
app.command()(review)
app.command()(recommend)
app.command()(forecast)
app.command()(recalibrate)
app.command()(demo)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Bayesian optimisation, and forecasts, whose error bars are true."""
    if version:
        console.print(calibrant.__version__)
        raise typer.Exit
