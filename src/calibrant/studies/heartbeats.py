"""Heartbeats of trials: which workers are at work, and whose trials are to be given up.

A heartbeat is an attribute of the trial that its worker renews. Others measure with their own clock
how long it has stayed the same, so that clocks may differ or jump. Time in which they could not
work themselves does not count: whatever held them up may have held up the other. On the worker's
own machine its death is known at once, and one that lives has ten times as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.processes import has_died, identity, is_at_work

BEAT = "calibrant:heartbeat"  # system attribute of a trial: its worker, and a count
GIVEN_UP = "calibrant:given-up"  # system attribute: the number of a trial whose worker died
_SEEN_ALIVE = 10.0  # times the grace, for a worker of this machine whose process lives


class Watch:
    """What a process knows of the heartbeats of others.

    Args:
        heartbeat: seconds between two heartbeats of a worker.
        grace: seconds without one after which its trial is given up.
    """

    def __init__(self, heartbeat: int, grace: int) -> None:
        self._heartbeat, self._grace = heartbeat, grace
        self._counts = count()
        # By study and trial: heartbeats, and since when each has been the same.
        self._watched: dict[int, dict[int, tuple[Any, float]]] = {}
        self._outages = 0
        self._worked, self._last_sign = 0.0, time.monotonic()
        self._lock = threading.Lock()

    def beat(self) -> dict[str, Any]:
        """Return a heartbeat that differs from all before."""
        return {"worker": identity(), "count": next(self._counts)}

    def at_work(self) -> float:
        """Take note that this process works, and return for how long it has.

        The clock stands still while this process, or its storage, does: from one sign of life to
        the next, a look or a heartbeat, no more than two heartbeats pass.
        """
        now = time.monotonic()
        with self._lock:
            self._worked += min(now - self._last_sign, 2.0 * self._heartbeat)
            self._last_sign = now
            return self._worked

    def dead(self, study_id: int, beats: Mapping[int, Any], outages: int) -> set[int]:
        """Return which trials have lost their worker.

        Args:
            study_id: the study that they are of.
            beats: the heartbeats that they have now, by trial.
            outages: how often the storage has been away so far.
        """
        now = self.at_work()
        with self._lock:
            before = self._watched.get(study_id, {})
            if self._outages != outages:
                before = {}  # nobody could renew a heartbeat: all have their time once more
            self._outages = outages
            self._watched[study_id] = watched = {
                trial_id: (beat, before[trial_id][1])
                if before.get(trial_id, (None,))[0] == beat
                else (beat, now)
                for trial_id, beat in beats.items()
            }
        return {
            trial_id
            for trial_id, (beat, since) in watched.items()
            if has_died(worker_of(beat)) or now - since > self._grace_of(beat)
        }

    def _grace_of(self, beat: Any) -> float:
        """Return how long a heartbeat may stay the same: longer where its worker is seen to live.

        Not for ever, as nobody can see whether it still has to do with that trial.
        """
        worker = worker_of(beat)
        lives = worker != identity() and is_at_work(worker)
        return self._grace * (_SEEN_ALIVE if lives else 1.0)


def worker_of(beat: Any) -> str:
    """Return the process that a heartbeat is of."""
    return str(beat.get("worker", "")) if isinstance(beat, Mapping) else ""


def was_given_up(trial: FrozenTrial) -> bool:
    """Return whether a trial has failed because its worker died, and may be begun again."""
    # What repeats it has inherited the note, with the number of the first.
    noted = optuna_private.trial_note(trial, GIVEN_UP)
    return trial.state == TrialState.FAIL and noted == trial.number
