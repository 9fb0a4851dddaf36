"""``calibrant recalibrate``: read a file of forecasts, write calibrated quantiles."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

import calibrant
from calibrant.cli.csv_files import read_forecasts, write_quantiles
from calibrant.cli.options import Report
from calibrant.cli.terminal import check_writable, console, fail, progress_bar, say
from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.core.words import count
from calibrant.evaluation.replay import Replay
from calibrant.forecasts.base import Forecast
from calibrant.recalibration import Recalibrator
from calibrant.reporting.stream import write_stream_report

_SHORT = 50  # outcomes: of fewer, two numbers can be learned and hardly a curve
_NAMED = 8  # lines that a note lists


class Kind(StrEnum):
    """Which recalibrator to use."""

    AUTO = "auto"
    ONLINE = "online"
    CHAIN = "chain"
    LEADER = "leader"
    GAUSSIAN = "gaussian"
    ISOTONIC = "isotonic"


def recalibrate(
    forecasts: Annotated[
        Path,
        typer.Argument(
            help="CSV with a header and one row per forecast, in the order of time. Columns: y, "
            "mean and std, or y and quantiles named q0.05, q0.5, …; your own columns are kept. "
            "Rows with an empty y are forecasts without an outcome yet; they are calibrated with "
            "all outcomes above them."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV of calibrated quantiles to write.")
    ] = None,
    report: Report = None,
    kind: Annotated[
        Kind, typer.Option(help="Which recalibrator to use; auto goes by the number of outcomes.")
    ] = Kind.AUTO,
    rate: Annotated[float, typer.Option(help="Step size, for online and chain.")] = 0.01,
    strength: Annotated[
        float,
        typer.Option(
            help="How many outcomes the trust in the model is worth, for chain, leader and "
            "gaussian."
        ),
    ] = 10.0,
    levels: Annotated[
        str, typer.Option(help="Levels of the calibrated quantiles to write.")
    ] = "0.025,0.1,0.25,0.5,0.75,0.9,0.975",
    state: Annotated[
        Path | None,
        typer.Option(
            help="JSON file of the recalibrator: read if it exists, then written. A row may be "
            "learned from only once, so pass only new rows."
        ),
    ] = None,
) -> None:
    """Recalibrate a file of forecasts and outcomes, in order, and print what it changed."""
    try:
        wanted = _parse_levels(levels)
        for path in (output, report, state):
            check_writable(path)
        _check_apart(forecasts, output, report, state)
        grid = np.unique([*np.arange(1, 100) / 100, *wanted])
        read = read_forecasts(forecasts)
        forecast, y = read.forecast, read.y
        seen = int(np.isfinite(y).sum())
        if read.sorted_lines:
            _print_sorted(read.sorted_lines)
        stored_before = _load(state)
        if kind is Kind.AUTO:
            kind = _chosen(seen, state is not None, told=stored_before is None)
        recalibrator, learned = stored_before or (_new(kind, rate, strength, grid), None)
        if learned and learned == _fingerprint(forecast, y, min(learned["rows"], seen)):
            raise ValueError(
                f"{state} has already learned from the first {learned['rows']} outcomes of "
                f"{forecasts}; pass only the rows after them, or run all rows without --state."
            )
        if report is not None and not seen:
            raise ValueError("A report needs at least one row with an outcome y.")
        result = replay_with_progress(forecast[:seen], y[:seen], recalibrator, forecasts.name, grid)
        recalibrator = result.recalibrator
        pending = recalibrator.calibrate(forecast[seen:]).quantile(np.array(wanted)[:, None]).T
        quantiles = np.concatenate([result.quantiles[:, np.searchsorted(grid, wanted)], pending])
        if seen:
            print_summary(result)
        if output is not None:
            write_quantiles(output, read, wanted, quantiles)
            console.print(f"Calibrated quantiles: {output}")
            _print_unbounded(quantiles)
        if report is not None:
            console.print(f"Report: {write_stream_report(result, report, forecasts.name)}")
        if state is not None:
            # Last and atomically: rows of a run that fails must not be learned from twice.
            part = state.with_name(state.name + ".part")
            stored = recalibrator.to_dict()
            if seen or learned:
                stored["learned"] = _fingerprint(forecast, y, seen) if seen else learned
            part.write_text(json.dumps(stored), encoding="utf-8")
            part.replace(state)
            console.print(f"Recalibrator: {state}, {recalibrator!r}")
    except (ValueError, TypeError, OSError) as error:
        fail(str(error))


def _check_apart(forecasts: Path, *written: Path | None) -> None:
    """Raise if a file that is read would be written, or two would be written to one place."""
    names = {forecasts.resolve(): "the forecasts that are read"}
    for path in written:
        if path is not None and (known := names.get(path.resolve())) is not None:
            raise ValueError(f"{path} is also {known}: give another name.")
        if path is not None:
            names[path.resolve()] = "another file that is written"


def _chosen(outcomes: int, goes_on: bool, told: bool) -> Kind:
    """Return the recalibrator that suits a number of outcomes, and say which."""
    kind = Kind.GAUSSIAN if outcomes < _SHORT and not goes_on else Kind.CHAIN
    why = {
        Kind.GAUSSIAN: f"shift and width alone, as {outcomes} outcomes are few",
        Kind.CHAIN: "shift and width at once, then every level, with a guarantee",
    }
    if told:
        say(f"Recalibrator: {kind.value} ({why[kind]}); --kind chooses another.")
    return kind


def _print_sorted(lines: tuple[int, ...]) -> None:
    listed = ", ".join(map(str, lines[:_NAMED])) + (", …" if len(lines) > _NAMED else "")
    say(f"Note: quantiles crossed in {count(len(lines), 'row')}, and were put in order: line "
        f"{listed}.", "yellow")  # fmt: skip


def _print_unbounded(quantiles: FloatArray) -> None:
    """Say how many rows have a quantile without an end."""
    rows = int((~np.isfinite(quantiles)).any(axis=1).sum())
    if rows:
        say(
            f"Note: {count(rows, 'row')} of {len(quantiles):,} have a quantile of ±inf, which the "
            "guarantee needs where no forecast went far enough. --kind gaussian has none.",
            "yellow",
        )


def _parse_levels(text: str) -> list[float]:
    try:
        levels = sorted({float(level) for level in text.split(",")})
    except ValueError:
        raise ValueError(
            f"`--levels` must be numbers such as 0.1,0.5,0.9, but got {text}."
        ) from None
    return [float(level) for level in validate.levels_grid(levels)]


def _new(kind: Kind, rate: float, strength: float, levels: FloatArray) -> Recalibrator:
    match kind:
        case Kind.ONLINE:
            return calibrant.OnlineRecalibrator(levels, rate)  # guaranteed at every level written
        case Kind.CHAIN | Kind.AUTO:
            return calibrant.ChainRecalibrator(
                calibrant.GaussianRecalibrator(strength), calibrant.OnlineRecalibrator(levels, rate)
            )
        case Kind.LEADER:
            return calibrant.LeaderRecalibrator(strength=strength)
        case Kind.GAUSSIAN:
            return calibrant.GaussianRecalibrator(strength=strength)
        case Kind.ISOTONIC:
            return calibrant.IsotonicRecalibrator()


def _load(state: Path | None) -> tuple[Recalibrator, dict[str, Any] | None] | None:
    """Return the stored recalibrator, and the fingerprint of the rows of its last run."""
    if state is None or not state.exists():
        return None
    try:
        stored = json.loads(state.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{state} is not a JSON file: {error}") from None
    try:
        recalibrator = calibrant.recalibrator_from_dict(stored)
        learned = stored.get("learned")
        if learned is not None:
            learned = {"rows": int(learned["rows"]), "sha256": str(learned["sha256"])}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise ValueError(
            f"{state} is not the state of a recalibrator, or is damaged ({error}); remove it to "
            "start anew."
        ) from None
    console.print(f"Resuming {recalibrator!r}; --kind, --rate and --strength do not apply.")
    return recalibrator, learned


def _fingerprint(forecast: Forecast, y: FloatArray, rows: int) -> dict[str, Any]:
    """Return a fingerprint that tells whether two files begin with the same rows."""
    table = np.column_stack([y[:rows], forecast[:rows].quantile([[0.25], [0.75]]).T])
    return {"rows": rows, "sha256": hashlib.sha256(table.round(9).tobytes()).hexdigest()}


def replay_with_progress(
    forecast: Forecast,
    y: FloatArray,
    recalibrator: Recalibrator,
    label: str,
    levels: int | FloatArray = 99,
) -> Replay:
    """Replay a stream, with a progress bar."""
    with progress_bar() as progress:
        task = progress.add_task(label, total=y.size)
        return calibrant.replay(
            forecast,
            y,
            recalibrator,
            levels=levels,
            progress=lambda done: progress.update(task, completed=done),
        )


def print_summary(replay: Replay) -> None:
    """Print the metrics of a stream, raw and calibrated."""
    summary = replay.summary()
    table = Table("score", "raw", "calibrated", title=f"{replay.y.size} outcomes")
    for name, before in summary["raw"].items():
        name_shown = f"{name} (m = 20 levels)" if name == "calibration score" else name
        table.add_row(name_shown, f"{before:.4g}", f"{summary['calibrated'][name]:.4g}")
    console.print(table)
