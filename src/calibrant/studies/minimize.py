"""Tuning a Python function or a program, in studies that can be stopped and resumed.

Both run on Optuna's own loop, storage and threads, with :class:`~calibrant.CalibratedSampler`
choosing the parameters. The number of trials is the total of the study, so running the same call
again adds only what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from calibrant.studies.archive import INTERRUPTED, cut_off
from calibrant.studies.budget import Budget, CostFunction
from calibrant.studies.candidates import NAME, Candidates
from calibrant.studies.domain import Domain, domain_of
from calibrant.studies.earlier import Earlier, EarlierStudies
from calibrant.studies.job import record_run, same_job
from calibrant.studies.limits import checked, value_within
from calibrant.studies.measured import note, without_measured
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.records import best_so_far
from calibrant.studies.runner import ERROR_KEY, Listener, both, evaluated, quiet_optuna, run
from calibrant.studies.sampler import CalibratedSampler
from calibrant.studies.sharing import hand_back, wait_for_others
from calibrant.studies.space_text import describe, parse_space
from calibrant.studies.storage import open_storage
from calibrant.studies.structure import NOTHING, Parameters, Structure, keep

N_TRIALS = 50
MOST_TRIALS = 10_000  # of a study with a budget, which ends it


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


def tune_command(
    command: Command,
    domain: Domain,
    study: Study,
    n_trials: int,
    n_jobs: int = 1,
    listener: Listener | None = None,
    time_budget: float | None = None,
    handing_back: bool = False,
    budget: Budget | None = None,
) -> bool:
    """Tune a program until the study has ``n_trials`` evaluations, or until Ctrl-C.

    Programs running at Ctrl-C are killed, and their trials are marked as interrupted, because they
    say nothing about their parameters. With ``handing_back`` they are queued for other workers.
    Of candidates, the program is given their columns and names.

    Returns:
        Whether the run was interrupted.
    """
    command.check(list(domain.distributions), n_jobs, placeholders(domain.candidates))

    def evaluate(trial: Trial) -> float:
        params = setting_of(trial, domain)
        try:
            with nullcontext() if budget is None else budget.spending(trial, params):
                reading = command.reading(params, trial.number)
                note(trial, std=reading.std, cost=reading.cost)
        except CommandFailed as failure:
            if command.stopped:
                trial.set_user_attr(INTERRUPTED, True)
            trial.set_user_attr(ERROR_KEY, str(failure))
            raise
        outcome = (reading.value, reading.measured) if command.limits else reading.value
        value: float = value_within(trial, outcome, command.limits)
        return value

    if budget is not None and budget.left(study) <= 0.0:
        return False
    listeners = both(listener, budget)
    interrupted = run(
        study, evaluate, n_trials, n_jobs, time_budget, listeners, on_interrupt=command.stop
    )
    if interrupted and handing_back:
        hand_back(study)
    if budget is not None and not interrupted:
        wait_for_others(study)  # what they have begun is part of the budget
    return interrupted


def placeholders(candidates: Candidates | None) -> list[str] | None:
    """Return what a program may be given of candidates; None where there are none."""
    return None if candidates is None else [NAME, *candidates.columns]


def at_most(n_trials: int, study: Study, domain: Domain) -> int:
    """Return the number of evaluations, no more than there are candidates to evaluate once."""
    if domain.candidates is None:
        return n_trials
    trials, idle = study.get_trials(deepcopy=False), cut_off(study)
    tried = {
        tuple(trial.params.get(name) for name in domain.distributions)
        for trial in trials
        if trial.state.is_finished() and trial.number not in idle
    }
    untried = domain.candidates.matching(domain.fixed) - tried
    return max(1, min(n_trials, evaluated(study, trials) + len(untried)))


def open_study(
    space: Domain | Mapping[str, BaseDistribution],
    storage: str | BaseStorage | None,
    study_name: str,
    direction: str | Sequence[str],
    sampler: BaseSampler | None = None,
    seed: int | None = None,
    min_feasible: float | None = None,
    repeats: bool = False,
    budget: Budget | None = None,
    earlier: Study | Earlier | Sequence[Study | Earlier] | None = None,
) -> Study:
    """Return the study of a name: the stored one if there is one, otherwise a new one.

    Of several objectives, each has a ``direction``.
    """
    wanted = [direction] if isinstance(direction, str) else list(direction)
    domain = space if isinstance(space, Domain) else domain_of(space)
    distributions = domain.distributions
    if sampler is not None and not (domain.is_whole and not repeats):
        raise ValueError(
            "`such_that`, `candidates`, `fixed` and `repeats` apply to the default sampler, but "
            "there is a `sampler` too; pass them to that, CalibratedSampler(…), in a study of its "
            "own."
        )
    if sampler is not None and seed is not None:
        raise ValueError(
            f"`seed` applies to the default sampler, but got seed={seed} and a `sampler`; pass the "
            "seed to that instead, as in CalibratedSampler(seed=0)."
        )
    if sampler is not None and min_feasible is not None:
        raise ValueError(
            "`min_feasible` applies to the default sampler, but there is a `sampler` too; pass it "
            "to that instead, as in CalibratedSampler(min_feasible=0.9)."
        )
    if sampler is not None and earlier:
        raise ValueError(
            "`earlier` applies to the default sampler, but there is a `sampler` too; pass it to "
            "that instead, as in CalibratedSampler(earlier=[study])."
        )
    sampler = sampler or CalibratedSampler(
        search_space=Parameters(distributions, domain.structure),
        such_that=domain.constraints,
        candidates=domain.candidates,
        fixed=domain.fixed,
        seed=seed,
        min_feasible=min_feasible,
        repeats=repeats,
        budget=budget,
        earlier=earlier,
    )
    if storage is not None:
        _check_storable(distributions)
    with quiet_optuna():
        study = optuna.create_study(
            storage=open_storage(storage),
            study_name=study_name,
            directions=["maximize" if one == "maximize" else "minimize" for one in wanted],
            sampler=sampler,
            load_if_exists=True,
        )
    stored = " and ".join(d.name.lower() for d in study.directions)
    if stored != (named := " and ".join(wanted)):
        raise ValueError(
            f"The stored study `{study_name}` is set to {stored}, not to {named}; choose "
            "another name."
        )
    _check_kinds(study, distributions)
    keep(study, domain.structure)
    EarlierStudies.of(earlier).check(study, distributions)
    return study


def _check_storable(distributions: Mapping[str, BaseDistribution]) -> None:
    """Raise if a choice would be read back from a storage as something else."""
    for name, distribution in distributions.items():
        for choice in getattr(distribution, "choices", ()):
            if not isinstance(choice, bool | int | float | str | None):
                raise ValueError(
                    f"A storage can keep choices that are numbers, text, True, False or None, but "
                    f"`{name}` may be {choice!r}; use a name, and look it up in the objective."
                )


def _check_kinds(study: Study, distributions: Mapping[str, BaseDistribution]) -> None:
    """Raise if a parameter has changed its kind or choices, as Optuna would fail every trial."""
    for trial in study.get_trials(deepcopy=False):
        for name in distributions.keys() & trial.distributions.keys():
            before, now = trial.distributions[name], distributions[name]
            try:
                optuna.distributions.check_distribution_compatibility(before, now)
            except ValueError:
                raise ValueError(
                    f"`{name}` was {describe(before)} in the stored study `{study.study_name}` and "
                    f"is now {describe(now)}; a range may change, but neither its scale nor "
                    "choices or their order: use another name or storage."
                ) from None


def setting_of(trial: Trial, domain: Domain) -> dict[str, Any]:
    """Return the parameters of a trial, or the row of the candidate that they are of."""
    params = suggest(trial, domain.distributions, domain.structure)
    listed = domain.candidates
    return params if listed is None else listed.row(listed.place(params))


def suggest(
    trial: Trial,
    distributions: Mapping[str, BaseDistribution],
    structure: Structure = NOTHING,
) -> dict[str, Any]:
    """Return the parameters of a trial, without those that do not exist in it."""
    params: dict[str, Any] = {}
    for name in structure.parents_first(list(distributions)):
        if not structure.exists(name, params):
            continue
        match dist := distributions[name]:
            case FloatDistribution():
                params[name] = trial.suggest_float(
                    name, dist.low, dist.high, step=dist.step, log=dist.log
                )
            case IntDistribution():
                params[name] = trial.suggest_int(
                    name, dist.low, dist.high, step=dist.step, log=dist.log
                )
            case CategoricalDistribution():
                params[name] = trial.suggest_categorical(name, dist.choices)
    return {name: params[name] for name in distributions if name in params}


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


def most_trials(n_trials: int | None, budget: Budget | None) -> int:
    """Return how many evaluations a study is to have, at most."""
    if n_trials is None:
        return N_TRIALS if budget is None else MOST_TRIALS
    return n_trials


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
