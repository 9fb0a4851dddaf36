"""The CSV files of forecasts and outcomes that `calibrant recalibrate` reads and writes."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.quantiles import Quantiles

_QUANTILE_COLUMN = re.compile(r"q(\d*\.?\d+(?:[eE][-+]?\d+)?)")


def read_forecasts(path: Path) -> tuple[Forecast, FloatArray]:
    """Read one forecast per row, in the order of time, and the outcomes, NaN where not yet known.

    The header names ``y`` and either ``mean`` and ``std``, or quantiles ``q0.05, q0.5, …``.
    Other columns are ignored.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets add a BOM
            reader = csv.DictReader(file)
            header = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = header
            rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num + 1} cannot be read: {error}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not in UTF-8: {error.reason} at byte {error.start}.") from None
    for line, row in rows:
        if None in row:
            raise ValueError(
                f"{path}, line {line} has more fields than the header; write numbers with a "
                "decimal point, not a comma."
            )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise ValueError(f"{path} has more than one column {sorted(repeated)[0]!r}.")
    if "y" not in header:
        raise ValueError(f"{path} must have a column `y`, but its header is {header}.")
    if not rows:
        raise ValueError(f"{path} has a header but no rows.")

    def column(name: str, empty_allowed: bool = False) -> FloatArray:
        values = np.empty(len(rows))
        for k, (line, row) in enumerate(rows):
            text = (row[name] or "").strip()
            if empty_allowed and not text:
                values[k] = np.nan
                continue
            try:
                values[k] = float(text)
            except ValueError:
                values[k] = np.nan
            if not np.isfinite(values[k]):
                way_out = "; leave y empty if it is not known yet" if empty_allowed else ""
                raise ValueError(
                    f"{path}, line {line}: {name}={text!r} is not a finite number{way_out}."
                )
        return values

    y = column("y", empty_allowed=True)
    known = np.flatnonzero(np.isfinite(y))
    if known.size and known[-1] != known.size - 1:
        raise ValueError(
            f"{path}: rows with an empty y must come last, because outcomes arrive in order."
        )
    if {"mean", "std"} <= set(header):
        return Normal(column("mean"), column("std")), y
    matches = [match for name in header if (match := _QUANTILE_COLUMN.fullmatch(name))]
    if matches:
        ordered = sorted(matches, key=lambda match: float(match[1]))
        values = np.stack([column(match[0]) for match in ordered], axis=-1)
        return Quantiles([float(match[1]) for match in ordered], values), y
    raise ValueError(
        f"{path} must have the columns mean and std, or quantile columns such as q0.1, q0.5, q0.9, "
        f"but its header is {header}."
    )


def write_quantiles(
    path: Path, y: FloatArray, levels: Sequence[float], quantiles: FloatArray
) -> None:
    """Write outcomes and calibrated quantiles, one row per forecast."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        # Twelve digits, so that a level of 0.1 + 0.2 is named 0.3.
        names = [np.format_float_positional(float(f"{p:.12g}"), trim="-") for p in levels]
        writer.writerow(["y", *(f"q{name}" for name in names)])
        for outcome, row in zip(y.tolist(), quantiles.tolist(), strict=True):
            writer.writerow(["" if np.isnan(outcome) else outcome, *row])
