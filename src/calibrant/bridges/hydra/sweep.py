"""A sweep: jobs asked from a study in batches, launched by Hydra, and told what they returned."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from calibrant.bridges.hydra.space import SweepSpace
from calibrant.core import validate
from calibrant.core.words import number
from calibrant.reporting import report
from calibrant.studies import optuna_private
from calibrant.studies.evaluations import INTERRUPTED
from calibrant.studies.job import record_run, same_job
from calibrant.studies.limits import checked, value_within
from calibrant.studies.opening import open_study
from calibrant.studies.records import best_so_far
from calibrant.studies.runner import ERROR_KEY, GIVE_UP, Listener, evaluated, quiet_optuna

logger = logging.getLogger(__name__)

Launch = Callable[[Sequence[Sequence[str]], int], Sequence[JobReturn]]
Check = Callable[[Sequence[Sequence[str]]], None]


@dataclass(frozen=True)
class Sweep:
    """The settings of a sweep.

    Args:
        direction: "minimize" or "maximize", or one of them for each number that a job returns.
        n_trials: the total number of evaluations, including those already in the study.
        n_jobs: how many jobs are launched at a time.
        seed: of all random choices.
        storage: the URL of a storage (``sqlite:///study.db``), with which a sweep can be resumed.
        study_name: the name of the study in the storage.
        limits: by name, the most that a measurement may be; jobs then return
            ``value, {"memory": 6.2}``.
        sampler: to use instead of the default one.
        callbacks: called with the study and each trial that has ended, such as
            :class:`~calibrant.StopWhen`.
    """

    direction: Any = "minimize"
    n_trials: int = 20
    n_jobs: int = 1
    seed: int | None = None
    storage: str | None = None
    study_name: str = "calibrant"
    limits: Any = None
    sampler: BaseSampler | None = None
    callbacks: Sequence[Listener] = ()

    def __post_init__(self) -> None:
        validate.at_least("n_trials", self.n_trials, 1)
        validate.at_least("n_jobs", self.n_jobs, 1)
        for direction in self.directions:
            if direction not in ("minimize", "maximize"):
                raise ValueError(
                    '`direction` must be "minimize", "maximize" or a list of these, but got '
                    f"direction={self.direction!r}."
                )
        if checked(self.limits) and len(self.directions) > 1:
            raise ValueError(
                f"`limits` go with one objective, but got limits={dict(self.limits)} and "
                f"{len(self.directions)} directions."
            )

    @property
    def directions(self) -> list[str]:
        """The direction of each number that a job returns."""
        one = isinstance(self.direction, str)
        return [self.direction] if one else [str(direction) for direction in self.direction]

    def run(self, space: SweepSpace, launch: Launch, check: Check | None = None) -> Study:
        """Launch jobs until the study has ``n_trials`` evaluations, and return the study.

        A job that raises, or returns anything but finite numbers, is a failed trial, and the sweep
        goes on; if five raise before any succeeds, the last exception is raised.

        Args:
            space: what to choose.
            launch: takes the overrides of some jobs and the number of the first one.
            check: called with the overrides of a job, to raise if it cannot be composed.
        """
        if check is not None:
            check([space.overrides(space.example())])
        study = open_study(
            space.distributions, self.storage, self.study_name, self.directions, self.sampler,
            self.seed,
        )  # fmt: skip
        same_job(study, parameters=sorted(space.distributions), limits=checked(self.limits))
        record_run(study, seed=self.seed)
        succeeded, errors = 0, list[Exception]()
        with quiet_optuna(), optuna_private.stoppable(study):
            while (missing := self.n_trials - evaluated(study)) > 0:
                batch = [study.ask(space.distributions) for _ in range(min(self.n_jobs, missing))]
                for trial, job in zip(batch, self._launched(batch, space, launch), strict=True):
                    error = self._tell(study, trial, job)
                    errors += [error] if error else []
                    succeeded += error is None
                if len(errors) >= GIVE_UP and not succeeded:
                    raise errors[-1]
                if optuna_private.stopped(study):
                    break
        return study

    def _launched(
        self, batch: Sequence[Trial], space: SweepSpace, launch: Launch
    ) -> Sequence[JobReturn]:
        """Return what the jobs of some trials returned; cut short, the trials are interrupted."""
        overrides = [space.overrides(trial.params) for trial in batch]
        try:
            # In one folder, a resumed sweep goes on with the numbers: jobs do not overwrite others.
            return launch(overrides, batch[0].number)
        except BaseException:
            for trial in batch:
                trial.set_user_attr(INTERRUPTED, True)  # not the fault of these parameters
                trial.study.tell(trial, state=TrialState.FAIL)
            raise

    def _tell(self, study: Study, trial: Trial, job: JobReturn) -> Exception | None:
        """Tell the study what a job returned, and return why it failed, if it did."""
        error: Exception | None = None
        try:
            values = self._values(trial, job)
        except Exception as raised:  # the job's own, or that it returned something else
            error = raised
            reason = str(raised) if job.status == JobStatus.COMPLETED else repr(raised)
            trial.set_user_attr(ERROR_KEY, reason)
            logger.warning("Trial %d failed: %s", trial.number, reason)
            ended = study.tell(trial, state=TrialState.FAIL)
        else:
            shown = ", ".join(map(number, values))
            logger.info("Trial %d returned %s", trial.number, shown)
            ended = study.tell(trial, values)
        for callback in self.callbacks or ():
            callback(study, ended)
        return error

    def _values(self, trial: Trial, job: JobReturn) -> list[float]:
        returned = job.return_value  # raises what the job raised
        wanted = len(self.directions)
        outcome = value_within(trial, returned, checked(self.limits))
        each = [outcome] if wanted == 1 else outcome
        try:
            values = [float(value) for value in each]
        except (TypeError, ValueError):
            values = []
        if len(values) != wanted:
            what = "a number" if wanted == 1 else f"{wanted} numbers"
            raise ValueError(f"The task function must return {what}, but returned {returned!r}.")
        if not all(map(math.isfinite, values)):
            raise ValueError(f"the task function returned {returned}")
        return values


def write_results(study: Study, folder: str | Path) -> None:
    """Write the best setting (``optimization_results.yaml``) and the report of a study.

    The file has the names that other sweepers of Hydra use.
    """
    results: dict[str, Any] = {"name": "calibrant", "study": study.study_name}
    if len(study.directions) > 1:
        front = [{"params": one.params, "values": one.values} for one in study.best_trials]
        results["solutions"] = front
        logger.info("%d settings that no other is better than", len(front))
    elif (best := best_so_far(study)) is not None:
        results |= {"best_params": best.params, "best_value": best.value, "trial": best.number}
        logger.info(
            "Best value %s, of trial %d: %s", number(best.value or 0.0), best.number, best.params
        )
    else:
        results |= {"best_params": None, "best_value": None}
        logger.warning("No trial has succeeded yet.")
    Path(folder).mkdir(parents=True, exist_ok=True)
    OmegaConf.save(OmegaConf.create(results), Path(folder, "optimization_results.yaml"))
    if study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        logger.info("Report: %s", report(study, Path(folder, "report.html")))
