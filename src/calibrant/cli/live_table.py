"""A running study on the terminal: its latest trials with forecasts, the best, the time left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from calibrant.core.words import duration, interval, number, resolved
from calibrant.studies.budget import Budget
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.records import best_so_far
from calibrant.studies.runner import ERROR_KEY, Listener, evaluated
from calibrant.studies.shown import interval_shown

_ROWS = 8  # trials in the table
_ENOUGH = 3  # trials that must have ended before the time left is estimated


@contextmanager
def live_table(
    study: Study, n_trials: int, console: Console, jobs: int = 1, budget: Budget | None = None
) -> Iterator[Listener]:
    """Show a study while it runs; without a terminal, print one line per trial."""
    bar = Progress(
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        expand=True,
    )
    task = bar.add_task("", total=n_trials, completed=evaluated(study), left="")
    if not console.is_terminal:
        yield lambda study, trial: console.print(_line(study, trial, budget), soft_wrap=True)
        return

    latest: tuple[Table | Text, ...] = ()

    def picture() -> Group:  # redrawn by a timer, so that running trials are shown too
        nonlocal latest
        try:
            latest = _picture(study, console.width)
        except Exception as error:  # the run itself waits for the storage, or reports its loss
            away = Text(f"as it was; the storage does not answer ({type(error).__name__})")
            return Group(*latest, away, bar)
        return Group(*latest, bar)

    def update(study: Study, trial: FrozenTrial) -> None:
        done = evaluated(study)
        if budget is not None:
            spent = min(1.0, budget.spent(study) / budget.most)
            bar.update(task, total=max(done, round(done / max(spent, 1e-9))), completed=done)
            bar.update(task, left=budget.words(study))
            return
        left = time_left(study.get_trials(deepcopy=False), n_trials - done, jobs)
        words = "" if math.isnan(left) else f"about {duration(left)} left"
        bar.update(task, completed=done, left=words)

    with Live(get_renderable=picture, console=console, refresh_per_second=2):
        yield update


def time_left(trials: Sequence[FrozenTrial], missing: int, jobs: int) -> float:
    """Return the seconds that the missing trials will take, by those that have ended; or NaN."""
    took = [
        (trial.datetime_complete - trial.datetime_start).total_seconds()
        for trial in trials
        if trial.datetime_complete is not None and trial.datetime_start is not None
    ]
    if len(took) < _ENOUGH or missing <= 0:
        return math.nan
    latest = took[-20:]  # settings differ, and a search moves on to others
    return math.ceil(missing / jobs) * sum(latest) / len(latest)


def _picture(study: Study, width: int) -> tuple[Table, Text]:
    trials = study.get_trials(deepcopy=False)
    best = best_so_far(study)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, expand=True)
    # One line per trial in any case; if space is short, the settings are cut.
    table.add_column("trial", justify="right", no_wrap=True, min_width=5)
    table.add_column("80 % forecast → value", no_wrap=True)
    table.add_column("settings", no_wrap=True, overflow="ellipsis", ratio=1)
    started = [trial for trial in trials if trial.state != TrialState.WAITING]
    for trial in started[-_ROWS:]:
        style = "bold green" if best is not None and trial.number == best.number else ""
        outcome = Text(outcome_words(study, trial), style=_style(trial))
        outcome.truncate(width // 2, overflow="ellipsis")  # why a trial failed may be long
        table.add_row(str(trial.number), outcome, Text(settings_words(trial.params)), style=style)
    if best is None:
        measured = any(trial.state == TrialState.COMPLETE for trial in trials)
        return table, Text("no result within the limits yet" if measured else "no result yet")
    words = f"best {number(best.value or 0.0, 6)} in trial {best.number}"
    return table, Text(f"{words}: {settings_words(best.params)}", style="bold")


def _line(study: Study, trial: FrozenTrial, budget: Budget | None = None) -> str:
    best = best_so_far(study)
    said = [] if best is None else [f"best {number(best.value or 0.0, 6)}"]
    said += [] if budget is None else [budget.words(study)]
    so_far = f" ({'; '.join(said)})" if said else ""
    words = outcome_words(study, trial)
    return f"trial {trial.number}: {words}{so_far}  {settings_words(trial.params)}"


def outcome_words(study: Study, trial: FrozenTrial) -> str:
    """Return what was forecast of a trial, what came out, and whether the interval held it."""
    ends = interval_shown(study, trial)
    before = "" if ends is None else f"{interval(*ends)} → "
    if trial.state == TrialState.COMPLETE:
        value = trial.value if trial.value is not None else math.nan
        broken = any(limit > 0.0 for limit in trial.constraints.values())
        after = ", breaks a limit" if broken else ""
        if ends is None:
            return f"{number(value, 6)}{after}"
        low, high = ends
        mark = "✓" if low <= value <= high else "✗"
        return f"{before}{resolved(value, high - low)} {mark}{after}"
    if trial.state == TrialState.FAIL:
        if INTERRUPTED in trial.user_attrs:
            return "interrupted"
        return f"failed: {trial.user_attrs.get(ERROR_KEY, 'no finite value')}"
    if trial.state == TrialState.RUNNING:
        return f"{before}…" if before else "running"
    return trial.state.name.lower()


def settings_words(params: dict[str, Any]) -> str:
    """Return a setting in a line, with the digits that fit."""
    return " ".join(f"{name}={_short(value)}" for name, value in params.items())


def _style(trial: FrozenTrial) -> str:
    if trial.state == TrialState.RUNNING:
        return "dim"
    return "red" if trial.state == TrialState.FAIL else ""


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
