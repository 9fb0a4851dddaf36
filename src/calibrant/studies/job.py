"""How a study was started: its program, the command line, the seed. Kept with the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from calibrant.core import validate
from calibrant.studies.evaluations import forgive
from calibrant.studies.storage import hidden

_JOB = "calibrant:job"  # user attribute of a study: what it tunes
_RUN = "calibrant:run"  # user attribute of a study: how it was last run


@dataclass(frozen=True)
class Job:
    """What is recorded of how a study was started.

    Args:
        program: the program that is tuned, with ``{name}`` in place of parameters; empty for a
            function.
        command: the command line that started or resumed it last; empty unless it was one.
        seed: of its last run, if one was given.
    """

    program: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    seed: int | None = None


def _noted(study: Study, key: str) -> dict[str, Any] | None:
    """Return a record of a study; one that is damaged is none."""
    noted = study.user_attrs.get(key)
    return noted if isinstance(noted, dict) else None


def job_of(study: Study) -> Job:
    """Return what is recorded of how a study was started."""
    job, run = _noted(study, _JOB) or {}, _noted(study, _RUN) or {}
    return Job(tuple(job.get("program") or ()), tuple(run.get("command") or ()), run.get("seed"))


def record_run(study: Study, command: Sequence[str] = (), seed: int | None = None) -> None:
    """Keep with a study how it is being run."""
    whole = None if seed is None else validate.whole("seed", seed)  # NumPy's are no JSON
    run = {"command": [hidden(part) for part in command], "seed": whole}
    if study.user_attrs.get(_RUN) != run:
        study.set_user_attr(_RUN, run)


def same_job(study: Study, **job: Any) -> None:
    """Raise if the study was started for another problem; otherwise record this one in it.

    Two problems in one study would be modelled as one. The comparison is of what was recorded: the
    names of parameters, limits, and on the command line also the program and how its result is
    read. What was not recorded yet is added.
    """
    known = _noted(study, _JOB)
    of_use = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    begun = bool(study.get_trials(deepcopy=False, states=of_use))
    if known is None or not begun:  # nothing to mix up: the earlier record may have been a mistake
        study.set_user_attr(_JOB, {**(known or {}), **job})
        if known is not None:
            forgive(study)
        return
    known = {"limits": {}, **known}  # where none are recorded, there were none
    for part in known.keys() & job.keys():
        if known[part] != job[part]:
            raise ValueError(
                f"The stored study `{study.study_name}` is of another problem, with {part} "
                f"{known[part]!r} and not {job[part]!r}; choose another name or storage."
            )
    if study.user_attrs.get(_JOB) != (complete := {**known, **job}):
        study.set_user_attr(_JOB, complete)
