"""The CSV files of forecasts and outcomes that `calibrant recalibrate` reads and writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrant.cli.tables import Table, read_table, write_table
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.quantiles import Quantiles

_QUANTILE_COLUMN = re.compile(r"q(\d*\.?\d+(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True)
class ForecastFile:
    """A file of forecasts, as it was read.

    Args:
        table: all its columns.
        forecast: one per row, in the order of time.
        y: the outcomes, NaN where not yet known.
        sorted_lines: the lines whose quantiles crossed and were put in order.
    """

    table: Table
    forecast: Forecast
    y: FloatArray
    sorted_lines: tuple[int, ...] = ()


def read_forecasts(path: Path) -> ForecastFile:
    """Read one forecast per row, in the order of time, and the outcomes.

    The header names ``y`` and either ``mean`` and ``std``, or quantiles ``q0.05, q0.5, …``.
    Quantiles that cross are put in order. Other columns are the user's own.
    """
    table = read_table(path)
    if "y" not in table.header:
        raise ValueError(f"{path} must have a column `y`, but its header is {table.header}.")
    if not table.rows:
        raise ValueError(f"{path} has a header but no rows.")
    y = _column(path, table, "y", empty_allowed=True)
    known = np.flatnonzero(np.isfinite(y))
    if known.size and known[-1] != known.size - 1:
        raise ValueError(
            f"{path}: rows with an empty y must come last, because outcomes arrive in order."
        )
    if {"mean", "std"} <= set(table.header):
        normal = Normal(_column(path, table, "mean"), _column(path, table, "std"))
        return ForecastFile(table, normal, y)
    matches = [match for name in table.header if (match := _QUANTILE_COLUMN.fullmatch(name))]
    if not matches:
        raise ValueError(
            f"{path} must have the columns mean and std, or quantile columns such as q0.1, q0.5, "
            f"q0.9, but its header is {table.header}."
        )
    ordered = sorted(matches, key=lambda match: float(match[1]))
    values = np.stack([_column(path, table, match[0]) for match in ordered], axis=-1)
    crossing = np.flatnonzero((np.diff(values, axis=1) < 0).any(axis=1))
    quantiles = Quantiles([float(match[1]) for match in ordered], np.sort(values, axis=1))
    return ForecastFile(table, quantiles, y, tuple(table.lines[row] for row in crossing))


def _column(path: Path, table: Table, name: str, empty_allowed: bool = False) -> FloatArray:
    values = np.empty(len(table.rows))
    for k, (line, row) in enumerate(zip(table.lines, table.rows, strict=True)):
        text = row[name].strip()
        if empty_allowed and not text:
            values[k] = np.nan
            continue
        try:
            values[k] = table.number(text)
        except ValueError:
            values[k] = np.nan
        if not np.isfinite(values[k]):
            way_out = "; leave y empty if it is not known yet" if empty_allowed else ""
            raise ValueError(
                f"{path}, line {line}: {name}={text!r} is not a finite number{way_out}."
            )
    return values


def write_quantiles(
    path: Path, read: ForecastFile, levels: Sequence[float], quantiles: FloatArray
) -> None:
    """Write calibrated quantiles in place of the forecasts, beside the user's own columns."""
    # Twelve digits, so that a level of 0.1 + 0.2 is named 0.3.
    names = [f"q{np.format_float_positional(float(f'{p:.12g}'), trim='-')}" for p in levels]
    table = read.table
    own = [name for name in table.header if not _is_forecast(name) and name not in names]
    rows = [
        {**row, **{name: table.text(value, 12) for name, value in zip(names, new, strict=True)}}
        for row, new in zip(table.rows, quantiles.tolist(), strict=True)
    ]
    written = Table([*own, *names], rows, table.lines, table.separator, table.decimal_comma)
    write_table(path, written)


def _is_forecast(name: str) -> bool:
    return name in ("mean", "std") or _QUANTILE_COLUMN.fullmatch(name) is not None
