"""Everything: all trials in a table that sorts, as CSV, and how the study was made."""

from __future__ import annotations

import csv
import io
import math
import platform
import shlex
from datetime import datetime
from importlib.metadata import version
from typing import Any

from calibrant.core.words import count, duration, interval, number, shortened
from calibrant.reporting.findings import Findings, Row
from calibrant.reporting.html import Html, join, table, tag
from calibrant.reporting.page import Section, copyable, scrolling

_MOST = 1000  # rows of the table: more than a browser lays out at once
_LIBRARIES = ("calibrant", "optuna", "numpy", "scipy")


def section(found: Findings) -> Section:
    """Return all trials and how the study was made."""
    return Section("everything", "Everything", join([_trials(found), _made(found)]))


def _trials(found: Findings) -> Html:
    if not found.rows:
        return Html("")
    rows, note = _chosen(found)
    values = _value_names(found)
    shown = [name for name in found.names if any(name in row.params for row in rows)]
    forecast = any(row.interval is not None for row in rows)
    reasons = any(row.reason or row.state not in ("finished", "failed") for row in rows)
    limits = any(row.feasible is not None for row in rows)
    numeric = [True, *[True] * len(values)]
    head = ["trial", *values]
    if forecast:
        head += ["80 % forecast", "held"]
        numeric += [True, False]
    if limits:
        head.append("feasible")
        numeric.append(False)
    head += [shortened(name, 40) for name in shown]
    numeric += [_is_number(found, name) for name in shown]
    head.append("took")
    numeric.append(True)
    if reasons:
        head.append("remark")
        numeric.append(False)
    top = [
        tag("th", tag("button", words, type="button"), scope="col", class_="n" if right else None)
        for words, right in zip(head, numeric, strict=True)
    ]
    best = {row.number for row in found.best}
    body = []
    for row in rows:
        cells = _cells(row, len(values), shown, forecast, limits, reasons)
        body.append(tag("tr", *cells, class_="best" if row.number in best else None))
    listed = tag("table", tag("thead", tag("tr", *top)), tag("tbody", *body), class_="sortable")
    save = tag(
        "p",
        tag("button", "Save all trials as CSV", type="button", data_save="csv",
            data_file="trials.csv", class_="js-only"),
        " ",
        tag("span", note, class_="muted small"),
    )  # fmt: skip
    data = tag("pre", as_csv(found), id="csv", hidden=True)
    return join([save, scrolling(listed, "All trials", tall=len(rows) > 12), data])


def _chosen(found: Findings) -> tuple[list[Row], str]:
    """Return the trials to list, and what to say of those left out."""
    rows = list(found.rows)
    if len(rows) <= _MOST:
        bold = "the best is" if found.single else "those on the front are"
        marked = f"; {bold} in bold" if found.best else ""
        return rows, f"{count(len(rows), 'trial')}. Click on a heading to sort{marked}."
    sign = -1.0 if found.maximised[0] else 1.0
    by_value = sorted(found.finished, key=lambda row: sign * row.value)[: _MOST // 2]
    keep = {row.number for row in (*by_value, *rows[-_MOST // 2 :], *found.best[: _MOST // 2])}
    note = (
        f"The table lists the {_MOST // 2} best and the {_MOST // 2} latest of "
        f"{count(len(rows), 'trial')}; the CSV has all."
    )
    return [row for row in rows if row.number in keep], note


def _cells(
    row: Row, objectives: int, names: list[str], forecast: bool, limits: bool, reasons: bool
) -> list[Html]:
    cells = [tag("th", str(row.number), scope="row", class_="n")]
    for k in range(objectives):
        value = row.values[k] if row.values else math.nan
        cells.append(_cell(value if row.values else None))
    if forecast:
        ends = row.interval
        key = "" if ends is None else repr(ends[0])
        cells.append(tag("td", interval(*ends) if ends else "", class_="n", data_v=key))
        words = {True: ("✓ yes", "held"), False: ("✗ no", "miss"), None: ("", None)}
        mark, kind = words[row.held]
        cells.append(tag("td", mark, class_=kind))
    if limits:
        cells.append(tag("td", {True: "yes", False: "no", None: ""}[row.feasible]))
    cells += [_cell(row.params.get(name)) for name in names]
    known = not math.isnan(row.seconds)
    cells.append(
        tag("td", duration(row.seconds) if known else "", class_="n",
            data_v=f"{row.seconds:.3f}" if known else "")
    )  # fmt: skip
    if reasons:
        state = "" if row.state in ("finished", "failed", "pruned") else row.state
        remark = ": ".join(part for part in (state, row.reason) if part)
        if row.state == "failed":
            remark = f"failed: {remark}"
        cells.append(
            tag("td", shortened(remark, 200), class_="words", title=shortened(remark, 200))
        )
    return cells


def _cell(value: Any) -> Html:
    if isinstance(value, float):
        return tag("td", number(value, 5), class_="n", data_v=repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return tag("td", str(value), class_="n")
    return tag("td", "" if value is None else shortened(str(value), 40))


def as_csv(found: Findings) -> str:
    """Return all trials as CSV, with all digits."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    constraints = sorted({name for row in found.rows for name in row.constraints})
    head = ["trial", "state", *_value_names(found), "low80", "high80", *found.names]
    writer.writerow(
        [*head, *(f"constraint {name}" for name in constraints), "started", "seconds", "remark"]
    )
    objectives = len(found.maximised)
    for row in found.rows:
        writer.writerow(
            [
                row.number,
                row.state,
                *(row.values or [""] * objectives),
                *(row.interval or ["", ""]),
                *(row.params.get(name, "") for name in found.names),
                *(row.constraints.get(name, "") for name in constraints),
                row.started.isoformat(timespec="seconds") if row.started else "",
                "" if math.isnan(row.seconds) else round(row.seconds, 3),
                row.reason,
            ]
        )
    return file.getvalue()


def _value_names(found: Findings) -> list[str]:
    if found.study.metric_names:
        return list(found.study.metric_names)
    if found.single:
        return ["value"]
    return [f"objective {k}" for k in range(len(found.maximised))]


def _is_number(found: Findings, name: str) -> bool:
    values = [row.params[name] for row in found.rows if name in row.params]
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _made(found: Findings) -> Html:
    job = found.job
    rows = [("study", shortened(found.study.study_name, 80))]
    goals = ["maximised" if up else "minimised" for up in found.maximised]
    rows.append(("objective" if found.single else "objectives", ", ".join(goals)))
    rows.append(("trials", _states(found)))
    started = [row.started for row in found.rows if row.started]
    ended = [row.ended for row in found.rows if row.ended]
    if started:
        rows.append(("first trial started", _moment(min(started))))
    if ended:
        rows.append(("last trial ended", _moment(max(ended))))
        busy = sum(row.seconds for row in found.rows if not math.isnan(row.seconds))
        rows.append(("time of all trials", duration(busy)))
    rows.append(("seed", "not recorded" if job.seed is None else str(job.seed)))
    rows.append(("written by", f"{_versions()}, Python {platform.python_version()}"))
    parts = [tag("h3", "How it was made"), scrolling(table(["", ""], rows), "How it was made")]
    if job.command:
        parts.append(copyable("command", shlex.join(job.command)))
    return join(parts)


def _states(found: Findings) -> str:
    counts: dict[str, int] = {}
    for row in found.rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    return ", ".join(f"{n:,} {state}" for state, n in counts.items()) or "none"


def _versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")
