"""A storage that outlives outages, dead workers and late results, around any of Optuna's.

* An operation that fails because the storage is away is tried again, for minutes.
* Every trial of Optuna's loop has a heartbeat, whatever the storage (heartbeats.py): one whose
  worker has died is given up, and queued once more.
* A process goes on seeing its own trials as running until it has told them, even if another has
  given them up meanwhile. What it tells late is kept (late.py).
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.heartbeats import BEAT, GIVEN_UP, Watch
from calibrant.studies.late import Own, bring_home
from calibrant.studies.outages import Patience

logger = logging.getLogger(__name__)

_FRESH = 1.0  # seconds for which a queue that was just looked through need not be read again
_RETRIES = 3  # of a trial whose worker died, because the setting itself may kill workers


def _passed_on(name: str) -> Any:
    """Return a method that calls the storage inside, patiently."""

    def method(self: SteadyStorage, *args: Any, **kwargs: Any) -> Any:
        return self.patience.run(getattr(self.inside, name), *args, **kwargs)

    method.__name__ = name
    return method


def _read_only(name: str) -> Any:
    """Return the same of a method that writes nothing."""
    passed_on = _passed_on(name)

    def method(self: SteadyStorage, *args: Any, **kwargs: Any) -> Any:
        with reading():
            return passed_on(self, *args, **kwargs)

    method.__name__ = name
    return method


_this_thread = threading.local()


@contextmanager
def reading() -> Iterator[None]:
    """Say that whatever this thread does with a storage meanwhile writes nothing."""
    before = is_reading()
    _this_thread.reading = True
    try:
        yield
    finally:
        _this_thread.reading = before


def is_reading() -> bool:
    """Return whether this thread has said so."""
    return getattr(_this_thread, "reading", False)


class SteadyStorage(BaseStorage, optuna_private.Heartbeat):
    """One of Optuna's storages, made steady.

    Args:
        inside: the storage; one of a database should come with Optuna's cache.
        heartbeat: seconds between two heartbeats of a worker.
        grace: seconds without one after which another worker takes over the trial.
        patience: seconds for which operations are tried again while the storage is away.
    """

    def __init__(self, inside: BaseStorage, heartbeat: int, grace: int, patience: float) -> None:
        self.inside, self.heartbeat, self.grace = inside, heartbeat, grace
        self.patience = Patience(patience)
        self._set_up()

    def _set_up(self) -> None:
        self._own: dict[int, Own] = {}
        self._watch = Watch(self.heartbeat, self.grace)
        # `study_id`, where Optuna's loop is about to ask, and `queue`: what it is about to read.
        self._thread = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("inside", "heartbeat", "grace", "patience")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_up()

    create_new_study = _passed_on("create_new_study")
    delete_study = _passed_on("delete_study")
    set_study_user_attr = _passed_on("set_study_user_attr")
    set_study_system_attr = _passed_on("set_study_system_attr")
    get_study_id_from_name = _read_only("get_study_id_from_name")
    get_study_name_from_id = _read_only("get_study_name_from_id")
    get_study_directions = _read_only("get_study_directions")
    get_study_user_attrs = _read_only("get_study_user_attrs")
    get_study_system_attrs = _read_only("get_study_system_attrs")
    get_all_studies = _read_only("get_all_studies")
    _every_trial = _read_only("get_all_trials")
    get_best_trial = _read_only("get_best_trial")
    get_trial_id_from_study_id_trial_number = _read_only("get_trial_id_from_study_id_trial_number")
    remove_session = _passed_on("remove_session")

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
    ) -> list[FrozenTrial]:
        """Return the trials of a study.

        Optuna's loop looks for dead workers, then for queued trials: one look is enough for both.
        """
        queue, self._thread.queue = getattr(self._thread, "queue", None), None
        if queue is not None and not deepcopy and states == (TrialState.WAITING,):
            known, at, trials = queue
            if known == study_id and time.monotonic() - at < _FRESH:
                return list(trials)
        every: list[FrozenTrial] = self._every_trial(study_id, deepcopy=deepcopy, states=states)
        return every

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        """Create a trial; one of Optuna's loop has a heartbeat from its first moment on."""
        self._thread.queue = None
        in_loop = template_trial is None and self._in_loop() is not None
        if in_loop:
            template_trial = optuna.create_trial(
                state=TrialState.RUNNING, system_attrs={BEAT: self._watch.beat()}
            )
        attempts = count()

        def create() -> int:
            if next(attempts) and (made := self._made(study_id, template_trial)) is not None:
                return made  # the answer was lost, and not the trial
            return self.inside.create_new_trial(study_id, template_trial)

        trial_id: int = self.patience.run(create)
        if in_loop:
            self._own[trial_id] = Own(study_id)
        return trial_id

    def get_trial(self, trial_id: int) -> FrozenTrial:
        """Return a trial; one that this process runs is running, whatever others made of it."""
        with reading():
            trial: FrozenTrial = self.patience.run(self.inside.get_trial, trial_id)
        own = self._own.get(trial_id)
        return own.overlaid(trial) if own is not None and trial.state.is_finished() else trial

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: Any
    ) -> None:
        """Store a parameter of a trial."""
        value = param_value_internal, distribution
        if not self._stored("set_trial_param", trial_id, param_name, *value):
            self._own[trial_id].params[param_name] = value

    def set_trial_intermediate_value(
        self, trial_id: int, step: int, intermediate_value: float
    ) -> None:
        """Store a report of a trial."""
        if not self._stored("set_trial_intermediate_value", trial_id, step, intermediate_value):
            self._own[trial_id].reports[step] = intermediate_value

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Store a user attribute of a trial."""
        if not self._stored("set_trial_user_attr", trial_id, key, value):
            self._own[trial_id].user_attrs[key] = value

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Store a system attribute of a trial."""
        if not self._stored("set_trial_system_attr", trial_id, key, value):
            self._own[trial_id].notes[key] = value

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        """Set the state of a trial, and its values; those that come late are kept."""
        tell, own = self.inside.set_trial_state_values, self._own.get(trial_id)
        try:
            done: bool = self.patience.run(tell, trial_id, state, values)
        except UpdateFinishedTrialError:
            if own is None or not state.is_finished():
                raise
            self._keep_late(trial_id, own, state, values)
            done = True
        if state.is_finished():
            self._own.pop(trial_id, None)
        elif state == TrialState.RUNNING and done and (study_id := self._in_loop()) is not None:
            self._own[trial_id] = Own(study_id)
            self.record_heartbeat(trial_id)  # it still has that of the worker that died
        return done

    def record_heartbeat(self, trial_id: int) -> None:
        """Renew the heartbeat of a trial; an outage must not end the thread that does it."""
        try:
            self.inside.set_trial_system_attr(trial_id, BEAT, self._watch.beat())
            self._watch.at_work()
        except UpdateFinishedTrialError:
            pass  # told, or given up by another: the value will be kept
        except Exception as error:  # whatever it is, the next heartbeat is due soon
            self.patience.outages += 1
            logger.debug("No heartbeat of trial %d: %s", trial_id, error)

    def get_heartbeat_interval(self) -> int:
        """Return the seconds between two heartbeats."""
        return self.heartbeat

    def get_heartbeat_stale_trial_callback(self) -> Callable[[Study, FrozenTrial], None]:
        """Return what queues the trial of a dead worker once more."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            return RetryHeartbeatStaleTrialCallback(max_retry=_RETRIES)

    def _get_stale_trial_ids(self, study_id: int) -> list[int]:
        """Return the trials whose worker has died: Optuna's loop wants them before it asks."""
        self._thread.study_id = study_id
        states = (TrialState.RUNNING, TrialState.WAITING)
        unfinished = self.get_all_trials(study_id, deepcopy=False, states=states)
        running = [trial for trial in unfinished if trial.state == TrialState.RUNNING]
        beats = {
            trial_id: beat
            for trial in running
            if (beat := optuna_private.trial_note(trial, BEAT)) is not None
            and (trial_id := optuna_private.trial_id(trial)) not in self._own
        }
        dead = self._watch.dead(study_id, beats, self.patience.outages)
        if not dead:
            queued = [trial for trial in unfinished if trial.state == TrialState.WAITING]
            self._thread.queue = (study_id, time.monotonic(), queued)
        for trial in running:
            if optuna_private.trial_id(trial) in dead:
                self._give_up(trial)
        return sorted(dead)

    def _give_up(self, trial: FrozenTrial) -> None:
        """Note that a trial is no evaluation: whoever queues it again may be killed before that."""
        if len(optuna_private.begun_again(trial)) < _RETRIES:
            with suppress(UpdateFinishedTrialError):  # another worker was faster
                note = self.inside.set_trial_system_attr
                self.patience.run(note, optuna_private.trial_id(trial), GIVEN_UP, trial.number)

    def _in_loop(self) -> int | None:
        """Return the study whose loop is asking for a trial in this thread, once."""
        study_id: int | None = getattr(self._thread, "study_id", None)
        self._thread.study_id = None
        return study_id

    def _made(self, study_id: int, template: FrozenTrial | None) -> int | None:
        """Return the trial of a template that has one, if the template can be told from others."""
        if template is None or not (notes := optuna_private.notes(template)):
            return None
        trials = self.inside.get_all_trials(study_id, deepcopy=False)
        same = (t for t in reversed(trials) if optuna_private.notes(t) == notes)
        return next((optuna_private.trial_id(t) for t in same if t.params == template.params), None)

    def _stored(self, method: str, trial_id: int, *args: Any) -> bool:
        """Write to a trial; return False if it is one of ours that another has given up."""
        try:
            self.patience.run(getattr(self.inside, method), trial_id, *args)
        except UpdateFinishedTrialError:
            if trial_id not in self._own:
                raise
            return False
        return True

    def _keep_late(
        self, trial_id: int, own: Own, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Keep what was told about a trial that has ended already."""
        trial: FrozenTrial = self.patience.run(self.inside.get_trial, trial_id)
        if trial.state == state and trial.values == values:  # by ourselves: the answer was lost
            return
        if state != TrialState.FAIL:
            seen = own.overlaid(trial)
            seen.state, seen.values = state, values
            seen.datetime_complete = datetime.now()
            bring_home(self, own.study_id, trial.number, seen)
            logger.warning("Trial %d was given up, but has ended: it is kept.", trial.number)
