"""Running a study with Optuna's loop, so that nothing is lost by Ctrl-C or a lost storage."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from calibrant.core import validate
from calibrant.studies import optuna_private
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.late import LATE
from calibrant.studies.sharing import evaluated as evaluated
from calibrant.studies.sharing import is_surplus, places, take_over
from calibrant.studies.storage import StorageLost, lost, rescued

logger = logging.getLogger(__name__)

ERROR_KEY = "error"  # the user attribute that says why a trial failed
_LOOK = 0.5  # seconds between two looks at what the others are doing
GIVE_UP = 5  # exceptions in a run without any success: the objective is broken, not the setting

Listener = Callable[[Study, FrozenTrial], None]


def both(one: Listener | None, other: Listener | None) -> Listener | None:
    """Return what calls both listeners, the first one first."""
    if one is None or other is None:
        return one or other

    def listen(study: Study, trial: FrozenTrial) -> None:
        one(study, trial)
        other(study, trial)

    return listen


class Refused(Exception):
    """The trial is not started: others took the last places, or it costs more than is left."""


def run(
    study: Study,
    evaluate: Callable[[Trial], float],
    n_trials: int,
    n_jobs: int = 1,
    time_budget: float | None = None,
    listener: Listener | None = None,
    on_interrupt: Callable[[], None] | None = None,
) -> bool:
    """Run Optuna's loop until the study has ``n_trials`` evaluations, by any process.

    Where other workers have begun the last ones, it waits for them, and takes over if one dies.

    Args:
        study: the study to add trials to.
        evaluate: the objective.
        n_trials: the total number of evaluations.
        n_jobs: the number of evaluations at the same time, in threads.
        time_budget: seconds after which no new evaluation starts.
        listener: called after each trial.
        on_interrupt: called at Ctrl-C, or if the storage is lost, to stop running programs. If it
            is given, SIGTERM and SIGHUP count as Ctrl-C.

    Returns:
        Whether the run was interrupted.
    """
    validate.at_least("n_jobs", n_jobs, 1)
    if time_budget is not None and not validate.as_floats("time_budget", time_budget) > 0.0:
        raise ValueError(f"`time_budget > 0` must hold, but got time_budget={time_budget}.")
    if validate.at_least("n_trials", n_trials, 1) <= evaluated(study):
        return False
    errors: list[Exception] = []
    succeeded: list[int] = []  # numbers of trials
    stop = _Stop(study, on_interrupt)
    lock = threading.Lock()
    before = study.get_trials(states=(TrialState.COMPLETE,))
    made: list[FrozenTrial] = []  # copies of this run's evaluations, in case the storage is lost
    full = threading.Event()  # whether all places were taken when a trial had ended

    def guarded(trial: Trial) -> float:
        if is_surplus(study, trial.number, n_trials):
            trial.set_user_attr(INTERRUPTED, True)  # it is no evaluation
            raise Refused
        try:
            with stop.at_once():
                value = float(evaluate(trial))
        except KeyboardInterrupt:
            trial.set_user_attr(INTERRUPTED, True)  # not the fault of these parameters
            raise
        except Refused:
            trial.set_user_attr(INTERRUPTED, True)
            raise
        except optuna.TrialPruned:
            raise
        except Exception as error:
            errors.append(error)
            trial.set_user_attr(ERROR_KEY, trial.user_attrs.get(ERROR_KEY) or repr(error))
            raise
        if not np.isfinite(value):
            trial.set_user_attr(ERROR_KEY, f"the objective returned {value}")
            return float("nan")  # Optuna counts NaN as a failure, but ±inf as an outcome
        made.append(_copy(study, trial, value))
        return value

    def after(study: Study, trial: FrozenTrial) -> None:
        with lock:
            if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
                succeeded.append(trial.number)
            if listener is not None:
                listener(study, trial)
            hopeless = len(errors) >= GIVE_UP and not succeeded
            if hopeless:
                study.stop()
            elif places(study, n_trials) <= 0:
                full.set()
                study.stop()

    def work() -> None:
        deadline = math.inf if time_budget is None else time.monotonic() + time_budget
        while not stop.asked and evaluated(study) < n_trials and time.monotonic() < deadline:
            if (free := places(study, n_trials)) > 0:
                full.clear()
                study.optimize(
                    guarded,
                    n_trials=free,
                    n_jobs=n_jobs,
                    timeout=None if time_budget is None else deadline - time.monotonic(),
                    catch=(Exception,),
                    callbacks=[after],
                )
                if optuna_private.stopped(study) and not full.is_set():
                    return
            else:
                time.sleep(_LOOK)
                take_over(study)

    try:
        with quiet_optuna(), stop.signals():
            work()
    except KeyboardInterrupt:
        stop.asked = True
    except Exception as error:
        complaint = lost(study, error)
        if complaint is None:
            raise
        if on_interrupt is not None:
            on_interrupt()
        copy = rescued(study, [*before, *made])
        raise StorageLost(
            f"The storage of `{study.study_name}` is gone ({str(complaint).splitlines()[0]}); "
            f"its {len(copy.trials)} evaluations are in the `study` of this error.",
            copy,
        ) from error
    if stop.asked:
        logger.warning("Stopped; the study keeps the %d evaluations made.", evaluated(study))
    elif errors and not succeeded:
        logger.error(
            "No trial of this run succeeded; %d raised, the last %r.", len(errors), errors[-1]
        )
        if len(errors) >= GIVE_UP:
            raise errors[-1]
    return stop.asked


def _copy(study: Study, trial: Trial, value: float) -> FrozenTrial:
    """Return an evaluation, with its forecast if the storage still returns it."""
    try:
        attributes = optuna_private.notes_of(study, trial)
    except Exception:  # the storage may be gone already; its loss is reported elsewhere
        attributes = {}
    return optuna.create_trial(
        params=trial.params,
        distributions=trial.distributions,
        value=value,
        system_attrs={LATE: trial.number, **attributes},
    )


class _Stop:
    """How a run handles Ctrl-C.

    Ctrl-C ends the objective at once, but lets Optuna finish what it stores before and after it: a
    half-stored trial would count as running for ever. With ``on_interrupt``, SIGTERM and SIGHUP are
    handled in the same way, so that no programs are left behind. A second Ctrl-C ends at once.
    """

    def __init__(self, study: Study, on_interrupt: Callable[[], None] | None) -> None:
        self.asked = False
        self._study, self._on_interrupt = study, on_interrupt
        self._evaluating = False  # in the main thread, the only one that signals reach

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let a signal end the code in this context at once."""
        in_main = threading.current_thread() is threading.main_thread()
        try:
            if in_main:
                self._evaluating = True
            if self.asked:  # the signal came while the trial was being prepared
                raise KeyboardInterrupt
            yield
        finally:
            if in_main:
                self._evaluating = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals, which only the main thread can do; elsewhere do nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGINT]
        if self._on_interrupt is not None:
            numbers.append(signal.SIGTERM)
            # Windows has no SIGHUP; under nohup it must stay ignored.
            if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._interrupt) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, number: int, frame: object) -> None:
        insists, self.asked = self.asked, True
        optuna_private.stop(self._study)
        if self._on_interrupt is not None:
            self._on_interrupt()
        if self._evaluating or insists:
            raise KeyboardInterrupt


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna from printing one line per trial while something else shows the progress."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.ERROR))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
