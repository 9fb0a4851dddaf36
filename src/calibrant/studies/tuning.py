"""Tuning a program: its evaluations are trials of a study that can be stopped and resumed."""

from __future__ import annotations

from contextlib import nullcontext

from optuna import TrialPruned
from optuna.study import Study
from optuna.trial import Trial

from calibrant.studies.asking import setting_of
from calibrant.studies.budget import Budget
from calibrant.studies.candidates import NAME, Candidates
from calibrant.studies.domain import Domain
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.limits import value_within
from calibrant.studies.measured import note
from calibrant.studies.program import Command, CommandFailed
from calibrant.studies.reported import GivenUp
from calibrant.studies.runner import ERROR_KEY, Listener, both, run
from calibrant.studies.sharing import hand_back, wait_for_others


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
                reading = command.reading(params, trial.number, _Watcher(trial))
                note(trial, std=reading.std, cost=reading.cost)
        except GivenUp:
            raise TrialPruned from None
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


class _Watcher:
    """Passes reports on to a trial, numbered from 1, and asks the study's pruner."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._steps = trial, 0

    def report(self, value: float) -> None:
        self._steps += 1
        self._trial.report(value, self._steps)

    def hopeless(self) -> bool:
        return self._trial.should_prune()


def placeholders(candidates: Candidates | None) -> list[str] | None:
    """Return what a program may be given of candidates; None where there are none."""
    return None if candidates is None else [NAME, *candidates.columns]
