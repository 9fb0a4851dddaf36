"""Which trials of a study are evaluations: those that ended without saying anything are none.

Someone stopped them, or their worker died, or they failed in a run before anything had succeeded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.studies import optuna_private
from calibrant.studies.heartbeats import was_given_up

INTERRUPTED = "calibrant:interrupted"  # user attribute of a trial that someone stopped
_SLIPS = "calibrant:slips"  # user attribute of a study: trials that failed before it was put right


def counts(trial: FrozenTrial, forgiven: Set[int]) -> bool:
    """Return whether a finished trial says something about its parameters."""
    slipped = trial.state == TrialState.FAIL and trial.number in forgiven
    return not (slipped or INTERRUPTED in trial.user_attrs or was_given_up(trial))


def cut_off(study: Study, trials: Sequence[FrozenTrial] | None = None) -> set[int]:
    """Return the numbers of trials that have finished and are no evaluations.

    These are all that do not count, and those that failed and were begun again. All ``trials`` may
    be given, if they were read before.
    """
    trials = study.get_trials(deepcopy=False) if trials is None else trials
    replaced = {number for t in trials for number in optuna_private.begun_again(t)}
    replaced |= forgiven(study.user_attrs)
    return {t.number for t in trials if t.state.is_finished() and not counts(t, replaced)}


def forgive(study: Study) -> None:
    """Forget what has failed, when a new run begins and nothing has succeeded before it.

    It was the objective that was broken, and not the settings that it was tried with.
    """
    failed = [trial.number for trial in study.get_trials(deepcopy=False, states=(TrialState.FAIL,))]
    if failed:
        study.set_user_attr(_SLIPS, failed)


def forgiven(attributes: Mapping[str, Any]) -> frozenset[int]:
    """Return the trials that a study has forgiven; what cannot be read is none."""
    noted = attributes.get(_SLIPS, ())
    whole = isinstance(noted, list) and all(isinstance(number, int) for number in noted)
    return frozenset(noted if whole else ())
