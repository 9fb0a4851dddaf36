"""A running study on the terminal: its latest trials, the best one, and whether intervals held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from calibrant.studies.archive import INTERRUPTED
from calibrant.studies.review import Review
from calibrant.studies.runner import ERROR_KEY, Listener, evaluated
from calibrant.studies.shown import COVERAGE

_ROWS = 8  # trials in the table
_WIDEST = 32  # characters shown of a value, or of the reason why a trial failed


@contextmanager
def live_table(study: Study, n_trials: int, console: Console) -> Iterator[Listener]:
    """Show a study while it runs; without a terminal, print one line per trial."""
    bar = Progress(
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )
    task = bar.add_task("", total=n_trials, completed=evaluated(study))
    if not console.is_terminal:
        yield lambda study, trial: console.print(_line(study, trial), soft_wrap=True)
        return

    def picture() -> Group:  # redrawn by a timer, so that running trials are shown too
        return Group(_table(study), bar)

    with Live(get_renderable=picture, console=console, refresh_per_second=2):
        yield lambda study, trial: bar.update(task, completed=evaluated(study))


def print_review(review: Review, console: Console) -> None:
    """Print the best setting, its interval, and how often the earlier intervals held."""
    settings = ", ".join(f"{name}={value!r}" for name, value in review.best_params.items())
    console.print(f"Best: {review.best_value:.6g} in trial {review.best_number}")
    console.print(f"  {settings}", soft_wrap=True)
    if review.held.size:
        console.print(
            f"{COVERAGE:.0%} intervals that were given before each evaluation held "
            f"{int(review.held.sum())} of {review.held.size} times ({review.held.mean():.0%}); "
            f"the model's own held {review.raw_held.mean():.0%}.",
            soft_wrap=True,
        )
    if review.failed:
        console.print(f"{review.failed} trial{'s' if review.failed > 1 else ''} failed.")


def _table(study: Study) -> Table:
    trials = study.get_trials(deepcopy=False)
    best = _best(study, trials)
    title = "no result yet" if best is None else f"best {best.value:.6g} (trial {best.number})"
    table = Table("trial", "settings", "value", title=title)
    # One line per trial in any case; if space is short, the settings are cut.
    trial_column, _, value_column = table.columns
    trial_column.no_wrap = value_column.no_wrap = True
    started = [trial for trial in trials if trial.state != TrialState.WAITING]
    for trial in started[-_ROWS:]:
        words = " ".join(f"{n}={_short(v)}" for n, v in trial.params.items())
        settings = Text(words, no_wrap=True, overflow="ellipsis")
        style = "bold green" if best is not None and trial.number == best.number else ""
        outcome = Text(_outcome(trial))
        outcome.truncate(_WIDEST, overflow="ellipsis")
        table.add_row(str(trial.number), settings, outcome, style=style)
    return table


def _line(study: Study, trial: FrozenTrial) -> str:
    settings = " ".join(f"{name}={_short(value)}" for name, value in trial.params.items())
    best = _best(study, study.get_trials(deepcopy=False))
    so_far = "" if best is None else f" (best {best.value:.6g})"
    return f"trial {trial.number}: {_outcome(trial)}{so_far}  {settings}"


def _best(study: Study, trials: list[FrozenTrial]) -> FrozenTrial | None:
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    return min(complete, key=lambda trial: sign * (trial.value or 0.0), default=None)


def _outcome(trial: FrozenTrial) -> str:
    if trial.state == TrialState.COMPLETE:
        return f"{trial.value:.6g}"
    if trial.state == TrialState.FAIL:
        if INTERRUPTED in trial.user_attrs:
            return "interrupted"
        return f"failed: {trial.user_attrs.get(ERROR_KEY, 'no finite value')}"
    return trial.state.name.lower()


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
