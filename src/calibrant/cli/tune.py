"""``calibrant tune``: parse the arguments, run the study, print the result."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import TrialState

from calibrant.cli.live_table import live_table, print_review
from calibrant.cli.terminal import EXIT_INTERRUPTED, check_writable, console, errors, fail
from calibrant.decisions import StopWhen
from calibrant.decisions.outlook import TRIALS
from calibrant.reporting import report as write_report
from calibrant.studies.job import same_job
from calibrant.studies.minimize import open_study, tune_command
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.review import review
from calibrant.studies.runner import both, evaluated
from calibrant.studies.space_text import describe, parse_parameter, parse_space
from calibrant.studies.storage import StorageLost, hidden, save_rescued


def tune(
    program: Annotated[
        list[str],
        typer.Argument(
            help="After `--`: the program and its arguments, with {name} where a parameter goes; "
            "{trial} is the number of the trial."
        ),
    ],
    param: Annotated[
        list[str],
        typer.Option(
            "--param",
            "-p",
            help="lr=1e-5..1e-1:log, layers=1..8, drop=0..0.5:0.1 (steps), act=relu,tanh",
        ),
    ],
    trials: Annotated[int, typer.Option(help="Total evaluations of the study.")] = 50,
    jobs: Annotated[int, typer.Option(help="Programs to run at the same time.")] = 1,
    storage: Annotated[
        str,
        typer.Option(
            envvar="CALIBRANT_STORAGE",
            help="Where the study is stored; run the same again to resume it. A password is better "
            "given in the environment, where other users do not see it.",
        ),
    ] = "sqlite:///calibrant.db",
    study_name: Annotated[str, typer.Option(help="Its name in the storage.")] = "calibrant",
    maximize: Annotated[bool, typer.Option("--maximize", help="Higher is better.")] = False,
    json_field: Annotated[
        str | None,
        typer.Option(help="Read this field of the JSON printed last, instead of the last number."),
    ] = None,
    result_file: Annotated[
        str | None,
        typer.Option(
            help="Read the result from this file; {trial} in its name keeps several jobs, or "
            "processes, apart."
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an evaluation counts as failed.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML report to write.")] = None,
    stop_below: Annotated[
        float | None,
        typer.Option(help="Stop when an improvement is less probable than this, such as 0.05."),
    ] = None,
    min_gain: Annotated[
        float | None, typer.Option(help="The improvement that --stop-below asks about.")
    ] = None,
    look_ahead: Annotated[
        int, typer.Option(help="Within how many more trials, for --stop-below.")
    ] = TRIALS,
) -> None:
    """Tune any program: minimise the last number that it prints.

    calibrant tune -p lr=1e-5..1e-1:log -p layers=1..8 -- python train.py --lr {lr} -n {layers}
    """
    command = Command(program, json_field, result_file, timeout)
    try:
        space = parse_space(dict(_parse_parameters(param)))
        command.check(list(space), jobs)
        check_writable(report)
        stop = _stop(stop_below, min_gain, look_ahead)
        direction = "maximize" if maximize else "minimize"
        study = open_study(space, storage, study_name, direction, seed=seed)
        same_job(
            study,
            parameters=sorted(space),
            program=program,
            result=[json_field, result_file],
        )
        _print_space(space)
        if evaluated(study):
            console.print(f"Resuming with {evaluated(study)} evaluations in {hidden(storage)}.")
        with live_table(study, trials, console) as listener:
            interrupted = tune_command(command, space, study, trials, jobs, both(listener, stop))
        if interrupted and not study.get_trials(states=(TrialState.COMPLETE,)):
            raise typer.Exit(EXIT_INTERRUPTED)
        if stop is not None and stop.reason is not None:
            console.print(stop.reason, soft_wrap=True)
        finish(study, report, f"Tuning {' '.join(program)}")
        if interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
    except StorageLost as error:
        fail(f"{error} {_save(error)}")
    except (ValueError, TypeError, OSError, CommandFailed) as error:
        fail(str(error))


def _stop(below: float | None, min_gain: float | None, look_ahead: int) -> StopWhen | None:
    if below is None and min_gain is not None:
        raise ValueError("--min-gain belongs to --stop-below: give both, or neither.")
    return None if below is None else StopWhen(below, min_gain, look_ahead)


def _print_space(space: Mapping[str, BaseDistribution]) -> None:
    """Print how the parameters were understood: 0..1 is two integers, 0.0..1 a real range."""
    for name, distribution in space.items():
        console.print(f"  {name}: {describe(distribution)}")


def _save(error: StorageLost) -> str:
    """Save the evaluations of a lost storage; as a last resort, print them."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            return f"They are saved in {save_rescued(error.study, folder)}."
        except Exception as reason:  # whatever went wrong, try the next place
            errors.print(f"They cannot be saved in {folder}: {str(reason).splitlines()[0]}")
    for trial in error.study.trials:
        console.print_json(json.dumps({"value": trial.value, "params": trial.params}, default=str))
    return "They are printed above."


def _parse_parameters(texts: list[str]) -> Iterator[tuple[str, BaseDistribution]]:
    seen: set[str] = set()
    for text in texts:
        name, distribution = parse_parameter(text)
        if name in seen:
            raise ValueError(f"The parameter `{name}` is given twice.")
        seen.add(name)
        yield name, distribution


def finish(study: Study, report: Path | None, title: str) -> None:
    """Print the result of a study and write its report, or fail if there is no result."""
    try:
        found = review(study)
    except ValueError as error:
        fail(str(error))
    print_review(found, console)
    if report is not None:
        console.print(f"Report: {write_report(study, report, title)}")
