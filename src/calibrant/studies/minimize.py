"""Minimising a Python function, in studies that can be stopped and resumed.

It runs on Optuna's own loop, storage and threads, with :class:`~calibrant.CalibratedSampler`
choosing the parameters. The number of trials is the total of the study, so running the same call
again adds only what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from calibrant.core import validate
from calibrant.studies.asking import setting_of
from calibrant.studies.budget import Budget, CostFunction
from calibrant.studies.domain import domain_of
from calibrant.studies.earlier import Earlier
from calibrant.studies.job import record_run, same_job
from calibrant.studies.limits import checked, value_within
from calibrant.studies.measured import without_measured
from calibrant.studies.opening import open_study
from calibrant.studies.records import best_so_far
from calibrant.studies.runner import Listener, both, evaluated, run
from calibrant.studies.space_text import parse_space
from calibrant.studies.totals import at_most, most_trials


def minimize(
    objective: Callable[[dict[str, Any]], Any],
    space: Mapping[str, Any] | None = None,
    n_trials: int | None = None,
    *,
    storage: str | BaseStorage | None = None,
    study_name: str = "calibrant",
    n_jobs: int = 1,
    seed: int | None = None,
    time_budget: float | None = None,
    direction: str = "minimize",
    sampler: BaseSampler | None = None,
    progress: bool = True,
    stop: Listener | None = None,
    limits: Mapping[str, float] | None = None,
    min_feasible: float | None = None,
    budget: float | str | Budget | None = None,
    cost: CostFunction | None = None,
    such_that: Any = None,
    candidates: Any = None,
    fixed: Mapping[str, Any] | None = None,
    repeats: bool = False,
    earlier: Study | Earlier | Sequence[Study | Earlier] | None = None,
) -> Study:
    """Minimise a function over a search space, and return the Optuna study of the search.

    >>> from calibrant import minimize
    >>> study = minimize(lambda p: (p["x"] - 2) ** 2, {"x": (-10.0, 10.0)}, n_trials=15, seed=0)
    >>> round(study.best_params["x"], 1)
    2.0

    If the objective raises an exception or returns NaN or ±inf, its trial fails and the search
    continues; if five trials of a run raise before any succeeds, the last exception is raised.
    Ctrl-C ends the search and returns the study as it is.

    Args:
        objective: takes the parameters as a dict and returns a number; with ``limits``, a number
            and a dict of what it measured: ``return loss, {"memory": 6.2}``. Where the noise of the
            number is known, it may be a number and its standard deviation: ``return loss, 0.02``.
            The dict may hold both that and what the evaluation has cost: ``{"std": …, "cost": …}``.
        space: by name, a range ``(low, high)``, choices ``[…]``, text such as ``"1e-5..1e-1:log"``,
            or an Optuna distribution; also :func:`~calibrant.ordered` choices, a
            :func:`~calibrant.permutation`, and values that exist only :func:`~calibrant.when`
            others have some value.
        n_trials: the total number of evaluations, including those already in the study; by default
            50 or, with a budget, as many as that allows.
        storage: an Optuna storage, or its URL (``"sqlite:///study.db"``). With it the study can be
            resumed, and other processes can work on it at the same time.
        study_name: the name of the study in the storage.
        n_jobs: the number of evaluations at the same time, in threads.
        seed: the seed of all random choices; a ``sampler`` of your own has its own seed.
        time_budget: seconds after which no new evaluation starts.
        direction: "minimize" or "maximize"; see also :func:`maximize`.
        sampler: a sampler to use instead of the default :class:`~calibrant.CalibratedSampler`,
            which is given the space in advance (``search_space``).
        progress: whether to show a progress bar, on a terminal.
        stop: a callback, such as :class:`~calibrant.StopWhen`: called with the study and each trial
            that has ended, it may call ``study.stop()``.
        limits: the upper limit of each measurement, by name (``{"memory": 8.0}``); the best trial
            is the best of those within all limits.
        min_feasible: try only settings that meet all limits with at least this calibrated
            probability; if there are none, the most probable ones. By default the expected
            improvement of a setting is multiplied by the probability.
        budget: the total cost of all evaluations, those already in the study included: a number in
            the unit of their costs, or a time, such as "2h". The search then maximises the expected
            improvement per cost, and starts no evaluation whose expected cost is over a tenth more
            than what is left.
        cost: the cost of a setting, if it is known beforehand: a function of the parameters as a
            dict. Otherwise the objective returns it, and the search learns where it is high.
        such_that: constraints between parameters: text such as ``"a + b <= 1"`` or
            ``"a + b + c == 1"``, a function of a setting that returns True or False, or a list of
            these. All settings meet them.
        candidates: the only settings to try, as a table: a list of dicts, a dict of columns, a
            dict of dicts by name, or a data frame. Its columns are the parameters; ``space`` may
            give the range, or log scale, of a column. The objective gets one row, with its
            ``name``. Each row is tried at most once.
        fixed: parameters with a given value, such as ``{"batch": "A"}``; the model also learns from
            outcomes for other values.
        repeats: whether a setting may be evaluated more than once, for noisy objectives.
        earlier: studies of related problems (other data, other ranges, more or fewer parameters),
            or :class:`~calibrant.Earlier` if parameters have other names now. They count as far as
            they predict the outcomes of this study.
    """
    validate.function("objective", objective, "`lambda p: p['x'] ** 2`")
    if stop is not None:
        validate.function("stop", stop, "`calibrant.StopWhen(probability=0.05)`")
    if candidates is None:
        space = parse_space(space or {})
    domain = domain_of(space, such_that, candidates, fixed)
    distributions = domain.distributions
    if direction not in ("minimize", "maximize"):
        raise ValueError(
            f'`direction` must be "minimize" or "maximize", but got direction={direction!r}.'
        )
    known_limits = checked(limits)
    if min_feasible is not None and not known_limits:
        raise ValueError(
            f'`min_feasible={min_feasible}` is about `limits`: give these too, as {{"memory": 8}}.'
        )
    purse = _purse(budget, cost)
    total = most_trials(n_trials, purse)
    study = open_study(
        domain, storage, study_name, direction, sampler, seed, min_feasible, repeats, purse,
        earlier,
    )  # fmt: skip
    same_job(study, parameters=sorted(distributions), limits=known_limits)
    record_run(study, seed=seed)
    total = total if repeats else at_most(total, study, domain)

    def evaluate(trial: Trial) -> float:
        params = domain.structure.decoded(setting_of(trial, domain))
        with nullcontext() if purse is None else purse.spending(trial, params):
            rest = without_measured(trial, objective(params), known_limits)
        value: float = value_within(trial, rest, known_limits)
        return value

    with _progress_bar(study, total, purse) if progress else nullcontext() as show:
        if purse is None or purse.left(study) > 0.0:
            run(study, evaluate, total, n_jobs, time_budget, both(both(show, stop), purse))
    return study


def maximize(
    objective: Callable[[dict[str, Any]], Any],
    space: Mapping[str, Any] | None = None,
    n_trials: int | None = None,
    **options: Any,
) -> Study:
    """Maximise a function over a search space, and return the Optuna study of the search.

    >>> from calibrant import maximize
    >>> study = maximize(lambda p: -((p["x"] - 2) ** 2), {"x": (-10.0, 10.0)}, n_trials=15, seed=0)
    >>> round(study.best_params["x"], 1)
    2.0

    Values, forecasts and reports are in the objective's own sign.

    Args:
        objective: takes the parameters as a dict and returns a number, or a number and its
            standard deviation; with ``limits``, a number and a dict of what it measured:
            ``return gain, {"memory": 6.2}``.
        space: as in :func:`minimize`.
        n_trials: the total number of evaluations, including those already in the study; by default
            50.
        options: the other arguments of :func:`minimize`.
    """
    if "direction" in options:
        raise TypeError("`maximize` has its direction already; call `minimize(direction=…)`.")
    return minimize(objective, space, n_trials, direction="maximize", **options)


def _purse(budget: float | str | Budget | None, cost: CostFunction | None) -> Budget | None:
    """Return the budget, or raise where costs are given without one."""
    if budget is None:
        if cost is not None:
            raise ValueError("`cost` is about a `budget`: give that too, as budget=100.0.")
        return None
    if not isinstance(budget, Budget):
        return Budget(budget, cost)
    if cost is not None:
        raise ValueError("`cost` belongs to the budget: Budget(100.0, cost), or both here.")
    return budget


@contextmanager
def _progress_bar(study: Study, n_trials: int, budget: Budget | None) -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.fields[best]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=n_trials, completed=evaluated(study), best="")

        def show(study: Study, trial: FrozenTrial) -> None:
            best = best_so_far(study)
            shown = "" if best is None else f"best {best.value:.6g}"
            if budget is not None:
                shown = f"{shown} {budget.words(study)}"
            bar.update(task, completed=evaluated(study), best=shown)

        yield show
