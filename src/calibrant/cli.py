"""The command line: parsing and printing only."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np
import typer
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import calibrant
from calibrant import checks, demo_tuning
from calibrant.command import Command, CommandFailed
from calibrant.csv_files import read_forecasts, write_quantiles
from calibrant.demo import co2_stream
from calibrant.forecast import Forecast
from calibrant.gaussian import FloatArray
from calibrant.live import live_table, print_review
from calibrant.parameters import describe, parse_parameter, parse_space
from calibrant.recalibrate import Recalibrator
from calibrant.report import write_stream_report, write_study_report
from calibrant.running import evaluated, run
from calibrant.storage import StorageLost, save_rescued
from calibrant.stream import Replay
from calibrant.study_review import review
from calibrant.tune import open_study, same_job, suggest, tune_command

_INTERRUPTED = 130  # the exit code of a program that Ctrl-C has ended

app = typer.Typer(
    help="Forecasts whose error bars are true.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(markup=False, highlight=False)  # file names are not markup
errors = Console(markup=False, highlight=False, stderr=True)


class Kind(StrEnum):
    """Which recalibrator to use."""

    ONLINE = "online"
    CHAIN = "chain"
    LEADER = "leader"
    GAUSSIAN = "gaussian"
    ISOTONIC = "isotonic"


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Forecasts whose error bars are true."""
    if version:
        console.print(calibrant.__version__)
        raise typer.Exit


class Demo(StrEnum):
    """Which worked example to run."""

    TUNING = "tuning"
    STREAM = "stream"


@app.command()
def demo(
    which: Annotated[
        Demo,
        typer.Argument(help="tuning: a model on real data; stream: real forecasts, recalibrated."),
    ] = Demo.TUNING,
    report: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
) -> None:
    """Tune a model on real data (or recalibrate real forecasts) and write a report."""
    try:
        if which is Demo.STREAM:
            _stream_demo(report)
        else:
            _tuning_demo(report)
    except (ImportError, OSError) as error:
        _fail(str(error))


def _stream_demo(report: Path) -> None:
    stream = co2_stream()
    recalibrator = calibrant.ChainRecalibrator()
    result = _replay_with_progress(stream.forecast, stream.y, recalibrator, stream.name)
    _print_summary(result)
    title = f"{stream.name}: a model fitted once, before and after recalibration"
    console.print(f"Report: {write_stream_report(result, report, title, stream.times)}")


def _tuning_demo(report: Path) -> None:
    objective, space = demo_tuning.objective(), demo_tuning.space()
    console.print(demo_tuning.TITLE)
    study = open_study(space, None, "demo", "minimize", seed=0)
    trials = demo_tuning.TRIALS
    with live_table(study, trials, console) as listener:
        run(study, lambda trial: objective(suggest(trial, space)), trials, listener=listener)
    _finish(study, report, demo_tuning.TITLE)


@app.command()
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
    trials: Annotated[int, typer.Option(help="Evaluations the study shall have in all.")] = 50,
    jobs: Annotated[int, typer.Option(help="Programs to run at the same time.")] = 1,
    storage: Annotated[
        str, typer.Option(help="Where the study is kept; run the same again to go on with it.")
    ] = "sqlite:///calibrant.db",
    study_name: Annotated[str, typer.Option(help="Its name there.")] = "calibrant",
    maximize: Annotated[bool, typer.Option("--maximize", help="Higher is better.")] = False,
    json_field: Annotated[
        str | None,
        typer.Option(help="Read this field of the JSON printed last, instead of the last number."),
    ] = None,
    result_file: Annotated[
        str | None, typer.Option(help="Read the result from this file; may contain {trial}.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an evaluation has failed.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of all random choices.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
) -> None:
    """Tune any program: the number it prints last is made as low as possible.

    calibrant tune -p lr=1e-5..1e-1:log -p layers=1..8 -- python train.py --lr {lr} -n {layers}
    """
    command = Command(program, json_field, result_file, timeout)
    try:
        space = parse_space(dict(_parse_parameters(param)))
        command.check(list(space), jobs)
        direction = "maximize" if maximize else "minimize"
        study = open_study(space, storage, study_name, direction, seed=seed)
        same_job(
            study,
            parameters=sorted(space),
            program=program,
            result=[json_field, result_file],
        )
        if report is not None and not report.parent.is_dir():
            raise ValueError(f"The folder of the report, {report.parent}, does not exist.")
        _print_space(space)
        if evaluated(study):
            console.print(f"Going on with {evaluated(study)} evaluations in {storage}.")
        with live_table(study, trials, console) as listener:
            interrupted = tune_command(command, space, study, trials, jobs, listener)
        if interrupted and not study.get_trials(states=(TrialState.COMPLETE,)):
            raise typer.Exit(_INTERRUPTED)
        _finish(study, report, f"Tuning {' '.join(program)}")
        if interrupted:
            raise typer.Exit(_INTERRUPTED)
    except StorageLost as error:
        _fail(f"{error} {_save(error)}")
    except (ValueError, TypeError, OSError, CommandFailed) as error:
        _fail(str(error))


def _print_space(space: Mapping[str, BaseDistribution]) -> None:
    """Say how the parameters were understood: 0..1 are two integers, 0.0..1 are not."""
    for name, distribution in space.items():
        console.print(f"  {name}: {describe(distribution)}")


def _save(error: StorageLost) -> str:
    """Save what a lost storage held; in the last resort, on the screen."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            return f"They are saved in {save_rescued(error.study, folder)}."
        except Exception as reason:  # whatever it is, there is another place to try
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


def _finish(study: Study, report: Path | None, title: str) -> None:
    """Print what was found and write the page, if anything was."""
    try:
        found = review(study)
    except ValueError as error:
        _fail(str(error))
    print_review(found, console)
    if report is not None:
        console.print(f"Report: {write_study_report(found, report, title)}")


@app.command()
def recalibrate(
    forecasts: Annotated[
        Path,
        typer.Argument(
            help="CSV with a header, one row a forecast in the order of time: the columns y, mean "
            "and std, or y and quantile columns named q0.05, q0.5, … Rows with an empty y are "
            "forecasts still to come due: they are calibrated with all outcomes above them."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV of calibrated quantiles to write.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    kind: Annotated[Kind, typer.Option(help="Which recalibrator.")] = Kind.ONLINE,
    rate: Annotated[float, typer.Option(help="Step size: online and chain.")] = 0.01,
    strength: Annotated[
        float, typer.Option(help="Trust in the model, in outcomes: chain, leader, gaussian.")
    ] = 10.0,
    levels: Annotated[
        str, typer.Option(help="Levels of the calibrated quantiles to write.")
    ] = "0.025,0.1,0.25,0.5,0.75,0.9,0.975",
    state: Annotated[
        Path | None,
        typer.Option(help="JSON file with the recalibrator: read if it exists, then written."),
    ] = None,
) -> None:
    """Recalibrate a file of forecasts and outcomes, in order, and say what it changed."""
    try:
        wanted = _parse_levels(levels)
        grid = np.unique([*np.arange(1, 100) / 100, *wanted])
        recalibrator = _load(state) or _new(kind, rate, strength, grid)
        forecast, y = read_forecasts(forecasts)
        seen = int(np.isfinite(y).sum())
        if report is not None and not seen:
            raise ValueError("A report needs at least one row with an outcome y.")
        result = _replay_with_progress(
            forecast[:seen], y[:seen], recalibrator, forecasts.name, grid
        )
        recalibrator = result.recalibrator
        pending = recalibrator.calibrate(forecast[seen:]).quantile(np.array(wanted)[:, None]).T
        quantiles = np.concatenate([result.quantiles[:, np.searchsorted(grid, wanted)], pending])
        if seen:
            _print_summary(result)
        if output is not None:
            write_quantiles(output, y, wanted, quantiles)
            console.print(f"Calibrated quantiles: {output}")
        if report is not None:
            console.print(f"Report: {write_stream_report(result, report, forecasts.name)}")
        if state is not None:
            # Last of all, and in one stroke: a run that fails must not be learned from twice.
            part = state.with_name(state.name + ".part")
            part.write_text(json.dumps(recalibrator.to_dict()), encoding="utf-8")
            part.replace(state)
            console.print(f"Recalibrator: {state}, {recalibrator!r}")
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error))


def _parse_levels(text: str) -> list[float]:
    try:
        levels = sorted({float(level) for level in text.split(",")})
    except ValueError:
        raise ValueError(
            f"`--levels` must be numbers such as 0.1,0.5,0.9, but got {text}."
        ) from None
    return [float(level) for level in checks.levels_grid(levels)]


def _new(kind: Kind, rate: float, strength: float, levels: FloatArray) -> Recalibrator:
    match kind:
        case Kind.ONLINE:
            return calibrant.OnlineRecalibrator(levels, rate)  # the promise at every level written
        case Kind.CHAIN:
            return calibrant.ChainRecalibrator(
                calibrant.GaussianRecalibrator(strength), calibrant.OnlineRecalibrator(levels, rate)
            )
        case Kind.LEADER:
            return calibrant.LeaderRecalibrator(strength=strength)
        case Kind.GAUSSIAN:
            return calibrant.GaussianRecalibrator(strength=strength)
        case Kind.ISOTONIC:
            return calibrant.IsotonicRecalibrator()


def _load(state: Path | None) -> Recalibrator | None:
    if state is None or not state.exists():
        return None
    recalibrator = calibrant.recalibrator_from_dict(json.loads(state.read_text(encoding="utf-8")))
    console.print(f"Going on with {recalibrator!r}; --kind, --rate and --strength do not apply.")
    return recalibrator


def _replay_with_progress(
    forecast: Forecast,
    y: FloatArray,
    recalibrator: Recalibrator,
    label: str,
    levels: int | FloatArray = 99,
) -> Replay:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(label, total=y.size)
        return calibrant.replay(
            forecast,
            y,
            recalibrator,
            levels=levels,
            progress=lambda done: progress.update(task, completed=done),
        )


def _print_summary(replay: Replay) -> None:
    summary = replay.summary()
    table = Table("score", "raw", "calibrated", title=f"{replay.y.size} outcomes")
    for name, before in summary["raw"].items():
        name_shown = f"{name} (m = 20 levels)" if name == "calibration score" else name
        table.add_row(name_shown, f"{before:.4g}", f"{summary['calibrated'][name]:.4g}")
    console.print(table)


def _fail(message: str) -> NoReturn:
    errors.print(f"Error: {message}", style="red")
    raise typer.Exit(1)
