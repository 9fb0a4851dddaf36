"""Which points are under evaluation, wherever they run."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.heartbeats import BEAT
from calibrant.studies.records import internal_params, moment
from calibrant.studies.suggestions import suggested

_LONGER = 10.0  # times the longest evaluation: a running trial that is older has lost its worker
_SLACK = 60.0  # seconds that any may take: machines stall, and their clocks differ


def running_points(
    study: Study,
    but: int,
    longest: float | None = None,
    trials: Sequence[FrozenTrial] | None = None,
) -> list[tuple[int, dict[str, float]]]:
    """Return numbers and points of all other trials under evaluation, wherever they run.

    All ``trials`` may be given, if they have just been read.

    Without heartbeats nobody is told that a worker has died. A trial that has been running for much
    longer than the ``longest`` finished one took is taken for dead: else nobody would ever try its
    setting again.
    """
    limit = np.inf if longest is None else max(_LONGER * longest, _SLACK)
    beating = optuna_private.has_heartbeats(study)
    points = []
    if trials is None:
        trials = optuna_private.every_trial(study, (TrialState.RUNNING,))
    for trial in trials:
        if trial.state != TrialState.RUNNING:
            continue
        alive = beating and optuna_private.trial_note(trial, BEAT) is not None
        old = time.time() - moment(trial.datetime_start) > limit
        if trial.number == but or (old and not alive):
            continue
        if params := {**suggested(trial), **internal_params(trial)}:
            points.append((trial.number, params))
    return points
