"""A storage that outlives outages, dead workers and late results, around any of Optuna's.

* An operation that fails because the storage is away is tried again, for minutes.
* Every trial of Optuna's loop has a heartbeat, whatever the storage: an attribute of the trial that
  its worker renews. Others measure with their own clock how long it has stayed the same, so that
  clocks may differ or jump. Time in which they could not work themselves does not count: whatever
  held them up may have held up the other. On the worker's own machine its death is known at once,
  and one that lives has ten times as long.
* A process goes on seeing its own trials as running until it has told them, even if another has
  given them up meanwhile. What it tells late is kept: as the outcome of the trial that was to
  repeat it, if nobody has begun that, and otherwise as a trial of its own.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import BaseStorage, RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.outages import Patience
from calibrant.studies.processes import has_died, identity, is_at_work

logger = logging.getLogger(__name__)

BEAT = "calibrant:heartbeat"  # system attribute of a trial: its worker, and a count
LATE = "calibrant:late"  # system attribute: the number of the trial whose outcome came late
_GIVEN_UP = "calibrant:given-up"  # system attribute: the number of a trial whose worker died
_SEEN_ALIVE = 10.0  # times the grace, for a worker of this machine whose process lives
_FRESH = 1.0  # seconds for which a queue that was just looked through need not be read again
_RETRIES = 3  # of a trial whose worker died, because the setting itself may kill workers


@dataclass
class _Own:
    """A trial that this process runs, and what it could not store once it had been given up."""

    study_id: int
    params: dict[str, tuple[float, BaseDistribution]] = field(default_factory=dict)
    reports: dict[int, float] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)  # system attributes

    def overlaid(self, trial: FrozenTrial) -> FrozenTrial:
        """Return the trial as the process that runs it sees it."""
        seen = copy.copy(trial)
        seen.state, seen.values, seen.datetime_complete = TrialState.RUNNING, None, None
        seen.distributions = {**trial.distributions, **{n: d for n, (_, d) in self.params.items()}}
        external = {n: d.to_external_repr(value) for n, (value, d) in self.params.items()}
        seen.params = {**trial.params, **external}
        seen.intermediate_values = {**trial.intermediate_values, **self.reports}
        seen.user_attrs = {**trial.user_attrs, **self.user_attrs}
        optuna_private.set_notes(seen, {**optuna_private.notes(trial), **self.notes})
        return seen


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
        self._own: dict[int, _Own] = {}
        self._counts = count()
        # By study and trial: heartbeats, and since when each has been the same.
        self._watched: dict[int, dict[int, tuple[Any, float]]] = {}
        self._outages_known = 0
        self._worked, self._last_sign = 0.0, time.monotonic()
        # `study_id`, where Optuna's loop is about to ask, and `queue`: what it is about to read.
        self._thread = threading.local()
        self._lock = threading.Lock()

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
                state=TrialState.RUNNING, system_attrs={BEAT: self._beat()}
            )
        attempts = count()

        def create() -> int:
            if next(attempts) and (made := self._made(study_id, template_trial)) is not None:
                return made  # the answer was lost, and not the trial
            return self.inside.create_new_trial(study_id, template_trial)

        trial_id: int = self.patience.run(create)
        if in_loop:
            self._own[trial_id] = _Own(study_id)
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
            self._own[trial_id] = _Own(study_id)
            self.record_heartbeat(trial_id)  # it still has that of the worker that died
        return done

    def record_heartbeat(self, trial_id: int) -> None:
        """Renew the heartbeat of a trial; an outage must not end the thread that does it."""
        try:
            self.inside.set_trial_system_attr(trial_id, BEAT, self._beat())
            self._time_at_work()
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
        now, beats = self._time_at_work(), {}
        for trial in running:
            beat = optuna_private.trial_note(trial, BEAT)
            if beat is not None and (trial_id := optuna_private.trial_id(trial)) not in self._own:
                beats[trial_id] = beat
        with self._lock:
            before = self._watched.get(study_id, {})
            if self._outages_known != self.patience.outages:
                before = {}  # nobody could renew a heartbeat: all have their time once more
            self._outages_known = self.patience.outages
            self._watched[study_id] = watched = {
                trial_id: (beat, before[trial_id][1])
                if before.get(trial_id, (None,))[0] == beat
                else (beat, now)
                for trial_id, beat in beats.items()
            }
        dead = {
            trial_id
            for trial_id, (beat, since) in watched.items()
            if has_died(worker_of(beat)) or now - since > self._grace_of(beat)
        }
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
                self.patience.run(note, optuna_private.trial_id(trial), _GIVEN_UP, trial.number)

    def _grace_of(self, beat: Any) -> float:
        """Return how long a heartbeat may stay the same: longer where its worker is seen to live.

        Not for ever, as nobody can see whether it still has to do with that trial.
        """
        worker = worker_of(beat)
        at_work = worker != identity() and is_at_work(worker)
        return self.grace * (_SEEN_ALIVE if at_work else 1.0)

    def _time_at_work(self) -> float:
        """Return a clock that stands still while this process, or its storage, does.

        From one sign of life to the next, a look or a heartbeat, no more than two heartbeats pass.
        """
        now = time.monotonic()
        with self._lock:
            self._worked += min(now - self._last_sign, 2.0 * self.heartbeat)
            self._last_sign = now
            return self._worked

    def _beat(self) -> dict[str, Any]:
        """Return a heartbeat that differs from all before."""
        return {"worker": identity(), "count": next(self._counts)}

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
        self, trial_id: int, own: _Own, state: TrialState, values: Sequence[float] | None
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


def bring_home(storage: BaseStorage, study_id: int, number: int, evaluation: FrozenTrial) -> bool:
    """Store the evaluation of a trial that could not be told; return False if it is there already.

    It becomes the outcome of that trial if nobody has ended it, else of the trial that was queued
    to repeat it, else a trial of its own. A trial that was given up is then no evaluation.
    """
    trials = storage.get_all_trials(study_id, deepcopy=False)
    here = trials[number] if number < len(trials) else None
    same_point = here is not None and here.params == evaluation.params
    told = here is not None and (here.state, here.values) == (evaluation.state, evaluation.values)
    if told and same_point:
        return False
    if any(optuna_private.trial_note(trial, LATE) == number for trial in trials):
        return False
    if here is not None and same_point and here.state == TrialState.RUNNING:
        return _told(storage, here, evaluation)
    for trial in trials:
        queued = trial.state == TrialState.WAITING and number in optuna_private.begun_again(trial)
        trial_id = optuna_private.trial_id(trial)
        if queued and storage.set_trial_state_values(trial_id, TrialState.RUNNING):
            storage.set_trial_system_attr(trial_id, LATE, number)
            return _told(storage, trial, evaluation)
    template = copy.copy(evaluation)
    notes = {**optuna_private.notes(evaluation), LATE: number}
    if here is not None and here.state == TrialState.FAIL:
        notes = optuna_private.as_repetition(notes, number)
    optuna_private.set_notes(template, notes)
    storage.create_new_trial(study_id, template)
    return True


def _told(storage: BaseStorage, trial: FrozenTrial, evaluation: FrozenTrial) -> bool:
    """Tell an evaluation as the outcome of a running trial."""
    trial_id = optuna_private.trial_id(trial)
    for name, distribution in evaluation.distributions.items():
        if name not in trial.params:
            internal = distribution.to_internal_repr(evaluation.params[name])
            storage.set_trial_param(trial_id, name, internal, distribution)
    for step, value in evaluation.intermediate_values.items():
        storage.set_trial_intermediate_value(trial_id, step, value)
    for key, attribute in evaluation.user_attrs.items():
        storage.set_trial_user_attr(trial_id, key, attribute)
    return storage.set_trial_state_values(trial_id, evaluation.state, evaluation.values)


def was_given_up(trial: FrozenTrial) -> bool:
    """Return whether a trial has failed because its worker died, and may be begun again."""
    # What repeats it has inherited the note, with the number of the first.
    noted = optuna_private.trial_note(trial, _GIVEN_UP)
    return trial.state == TrialState.FAIL and noted == trial.number


def worker_of(beat: Any) -> str:
    """Return the process that a heartbeat is of."""
    return str(beat.get("worker", "")) if isinstance(beat, Mapping) else ""
