"""The sampler: calibrated Bayesian optimisation behind Optuna's interface."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.acquisition.base import Acquisition
from calibrant.core import validate
from calibrant.core.cube import Design
from calibrant.core.threads import one_thread
from calibrant.forecasts.base import Forecast
from calibrant.models.informed import informed
from calibrant.models.protocol import Model
from calibrant.recalibration import Recalibrator
from calibrant.recalibration.calibration_sets import CalibrationSet, Splits
from calibrant.recalibration.score_log import ScoreLog
from calibrant.search.defaults import (
    ACQUISITION,
    MODEL,
    N_STARTUP_TRIALS,
    PATIENCE,
    RECALIBRATOR,
)
from calibrant.search.several import checked_reference
from calibrant.search.step import Policy, Suggestion
from calibrant.studies import optuna_private
from calibrant.studies.archive import Archive
from calibrant.studies.budget import Budget
from calibrant.studies.candidates import CANDIDATE
from calibrant.studies.chooser import Chooser
from calibrant.studies.coordinates import Internal, searchable
from calibrant.studies.domain import domain_of
from calibrant.studies.earlier import Earlier, EarlierStudies
from calibrant.studies.pending import running_points
from calibrant.studies.randomness import Randomness
from calibrant.studies.shown import ShownForecasts
from calibrant.studies.space import Space
from calibrant.studies.structure import keep
from calibrant.studies.suggestions import showing, store

_ATTEMPTS = 8  # at a point that no other worker has just taken
_FRESH = 1.0  # seconds for which what a trial has read of its study need not be read again


class CalibratedSampler(BaseSampler):
    """Chooses the parameters of Optuna's trials by calibrated Bayesian optimisation.

    >>> import optuna
    >>> from calibrant import CalibratedSampler
    >>> def objective(trial):
    ...     return (trial.suggest_float("x", -10, 10) - 2) ** 2
    >>> study = optuna.create_study(sampler=CalibratedSampler(seed=0))
    >>> study.optimize(objective, n_trials=15)
    >>> round(study.best_params["x"], 1)
    2.0

    One or several objectives, minimised or maximised; constraints set with
    ``trial.set_constraint(name, value)``, met at values of at most 0; parameters that exist only in
    some trials; any number of workers on one storage. Each suggestion is stored with its trial
    together with the model's raw forecast, so calibration survives a restart.

    Args:
        model: forecasts the outcomes; by default Gaussian processes with three kernels that take
            turns.
        recalibrator: corrects the model's forecasts inside the acquisition; None: uncalibrated.
        calibration_set: the scores that the recalibrator learns from: "leave-one-out",
            "time-series" or "online", or a :class:`~calibrant.recalibration.CalibrationSet` for the
            details. The default is leave-one-out, for expected improvement without the signs of
            scores, so that it learns spread but no shift; a name alone means with signs.
        acquisition: the acquisition function, which says how much a point is worth evaluating.
        n_startup_trials: how many trials must have finished before the model chooses, pruned ones
            that have reported included; by default 5. With 0 it chooses from the second on.
        design: how these first trials are spread: "latin", "sobol" or "random".
        repeats: whether a setting may be evaluated twice.
        patience: after this many suggestions in a row without an improvement, forecasts are
            gradually widened; None: never.
        min_feasible: suggest only settings that meet all constraints with at least this calibrated
            probability; if there are none, the most probable ones. By default the expected
            improvement is multiplied by the probability.
        reference_point: with two to four objectives, the worst value of each that is of any use, in
            the study's own units and directions. Outcomes that are worse in any objective count
            for nothing: the search maximises the hypervolume up to this point. By default it lies
            half the extent of the front beyond the front's worst values.
        search_space: the parameters, if they are known beforehand, as distributions or as
            :func:`~calibrant.minimize` takes them; by default they are learned from the trials, and
            those that start before the first has ended are drawn at random. Ranges must be those
            that the objective asks for: a suggestion outside them is not used.
        such_that: constraints between parameters that every suggestion meets, as text
            (``"a + b <= 1"``) or functions of a setting; they need the ``search_space``.
        candidates: the only settings to suggest, as a table (see :func:`~calibrant.minimize`). Its
            columns are the parameters. A trial has the name of its candidate as the user attribute
            ``candidate``.
        fixed: parameters with a given value (``{"batch": "A"}``). The model learns from all their
            values, and the search looks for the best setting with the given ones. Optuna's
            ``enqueue_trial`` and ``PartialFixedSampler`` do the same for what they fix.
        seed: the seed of all random choices. A search that is stopped and resumed continues with
            the random numbers that it would have drawn.
        budget: the budget, if trials differ in cost: the search then maximises the expected
            improvement per cost. Give it as a callback too, to stop when it is spent.
        earlier: studies of related problems (other data, other ranges, more or fewer parameters),
            or :class:`~calibrant.Earlier` if parameters have other names now. They propose every
            other first point, and the model learns how well they predict this study.
    """

    def __init__(
        self,
        *,
        model: Model = MODEL,
        recalibrator: Recalibrator | None = RECALIBRATOR,
        calibration_set: CalibrationSet | Splits | str | None = None,
        acquisition: Acquisition = ACQUISITION,
        n_startup_trials: int = N_STARTUP_TRIALS,
        design: Design | str = Design.LATIN,
        repeats: bool = False,
        patience: int | None = PATIENCE,
        min_feasible: float | None = None,
        reference_point: Sequence[float] | None = None,
        search_space: Mapping[str, Any] | None = None,
        such_that: Any = None,
        candidates: Any = None,
        fixed: Mapping[str, Any] | None = None,
        seed: int | None = None,
        budget: Budget | None = None,
        earlier: Study | Earlier | Sequence[Study | Earlier] | None = None,
    ) -> None:
        if budget is not None:
            validate.like("budget", budget, Budget, "Budget(100.0)")
        policy = Policy(
            model, recalibrator, calibration_set, acquisition, repeats, patience, min_feasible
        )
        reference = None if reference_point is None else checked_reference(reference_point)
        n_startup_trials = validate.at_least("n_startup_trials", n_startup_trials, 0)
        design = validate.choice("design", Design, design)
        self._domain = domain_of(search_space, such_that, candidates, fixed)
        self._search_space = searchable(self._domain.distributions)
        known = EarlierStudies.of(earlier)
        if known:
            informed(model, ())  # raises if it cannot be told
        self._random = Randomness(None if seed is None else validate.at_least("seed", seed, 0))
        self._chooser = Chooser(
            policy, self._domain, self._random, n_startup_trials, design, reference, known, budget
        )
        self._set_up()

    def _set_up(self) -> None:
        self._lock = threading.RLock()
        self._archive = Archive()
        self._shown = ShownForecasts(go_on=True)
        # A study, the trial that has read all its trials, when, and these.
        self._just_read: tuple[Study, int, float, Sequence[FrozenTrial]] | None = None

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        with self._lock:
            self._chooser.check(study)
            keep(study, self._domain.structure)
            trials = self._look(study)
            self._just_read = (study, trial.number, time.monotonic(), trials)
            return self._archive.search_space(self._search_space)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        searched = searchable(search_space)
        if not searched:
            return {}
        # What Optuna's PartialFixedSampler fixes is no part of the search space that it hands on.
        fixed = optuna_private.fixed_by_sampler(study)
        # One suggestion at a time in this process: the next one must know of it.
        with self._lock:
            trials = self._recent(study, trial)
            if fixed:
                every = self._archive.search_space(self._search_space)
                searched |= {name: every[name] for name in fixed if name in every}
            space = self._archive.space(searched)
            chosen = space.external(self._place(study, trial, space, trials, fixed))
            return {name: value for name, value in chosen.items() if name in search_space}

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        # Optuna does not ask for parameters that were all given when the trial was enqueued; what
        # the model says about them counts all the same.
        if not (fixed := optuna_private.fixed_params(trial)):
            return
        with self._lock:
            keep(study, self._domain.structure)
            trials = self._look(study)
            searched = self._archive.search_space(self._search_space)
            if searched and set(searched) <= set(fixed):
                self._place(study, trial, self._archive.space(searched), trials)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        # Workers with the same seed must not draw the same: the trial decides, and the name.
        seed = self._random.seed
        if seed is None:
            seed = int(self._random.rng.integers(2**31))
        entropy = [seed, trial.number, zlib.crc32(param_name.encode())]
        drawn = int(np.random.default_rng(entropy).integers(2**31))
        random = RandomSampler(seed=drawn)
        return random.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        self._random.reseed()

    def outcomes(self, study: Study) -> tuple[ScoreLog, ...]:
        """Return the online calibration set of each objective: scores of forecasts come due."""
        with self._lock:
            self._archive.update(study)
            return self._archive.outcomes(len(study.directions))

    def forecasts(self, study: Study, params: Sequence[Mapping[str, Any]]) -> tuple[Forecast, ...]:
        """Forecast each objective at some parameters: raw, and as if it were minimised."""
        with self._lock:
            self._archive.update(study)
            if not (searched := self._archive.search_space(self._search_space)):
                raise ValueError("A forecast needs a finished trial with something to choose.")
            space = self._archive.space(searched)
            history = self._archive.history(space, len(study.directions), [])
            if not history.Y.size:
                raise ValueError("A forecast needs a finished trial with a finite value.")
            X = np.array([space.row(space.to_internal(point, outside=True)) for point in params])
            fits = self._chooser.fits(study, space, history)
            return tuple(fitted.predict(X) for fitted in fits.objectives)

    @one_thread()
    def _place(
        self,
        study: Study,
        trial: FrozenTrial,
        space: Space,
        trials: Sequence[FrozenTrial],
        fixed_by_sampler: Mapping[str, Any] = MappingProxyType({}),
    ) -> dict[str, float]:
        """Return a point, stored with its trial, that no other worker has taken meanwhile."""
        enqueued = optuna_private.fixed_params(trial)
        fixed = space.to_internal({**self._domain.fixed, **fixed_by_sampler, **enqueued})
        if self._random.seed is not None:  # else there is no place to find, and nothing to read
            self._random.go_on(trials, trial.number)
        before = self._random.state()
        avoided: list[Internal] = []
        for _ in range(_ATTEMPTS):
            running = [params for _, params in self._running(study, trial, trials)]
            suggestion = self._chooser.choose(
                study, trial, space, self._archive, [*running, *avoided], fixed
            )
            params = self._domain.internal(space, suggestion.x)
            shown, by = self._show(suggestion, trials)
            store(study, trial, params, suggestion, shown, by, self._random.note(before))
            known = len(self._archive.records)
            trials = self._look(study)
            rivals = self._rivals(study, trial, params, trials, known)
            if len(fixed) == space.cube.dim or enqueued or not rivals:
                break
            # Of two workers that stored the same point at least one sees the other's, perhaps both.
            # The later trial then leaves the next best point, too, to the earlier one.
            avoided.append(params)
            if min(rivals) < trial.number:
                further = self._chooser.choose(
                    study, trial, space, self._archive, [*running, *avoided], fixed
                )
                avoided.append(self._domain.internal(space, further.x))
        if (name := self._domain.name(space, suggestion.x)) is not None:
            optuna_private.set_attribute(study, trial, CANDIDATE, name)
        return params

    def _show(
        self, suggestion: Suggestion, trials: Sequence[FrozenTrial]
    ) -> tuple[tuple[float, float] | None, dict[str, Any] | None]:
        """Return the calibrated interval of a single objective, minimised, and what shows it."""
        if len(suggestion.forecasts) != 1:
            return None, None
        notes = (showing(trial) for trial in trials if trial.state == TrialState.RUNNING)
        self._shown.update(self._archive.records, notes)
        interval = self._shown.interval(suggestion.forecasts[0], suggestion.known)
        return interval, self._shown.note(suggestion.known)

    def _look(self, study: Study) -> Sequence[FrozenTrial]:
        """Return all trials as they are now, and take note of those that have ended.

        Each look costs as much as there are trials under evaluation, so nothing else reads them.
        """
        trials = optuna_private.every_trial(study)
        self._archive.update(study, trials)
        return trials

    def _recent(self, study: Study, trial: FrozenTrial) -> Sequence[FrozenTrial]:
        """Return the trials as this one has just read them, or read them again."""
        read, self._just_read = self._just_read, None
        if read is None or read[:2] != (study, trial.number):
            return self._look(study)
        return read[3] if time.monotonic() - read[2] < _FRESH else self._look(study)

    def _running(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial]
    ) -> list[tuple[int, dict[str, float]]]:
        """Return numbers and points of the other trials under evaluation."""
        return running_points(study, trial.number, self._archive.longest, trials)

    def _rivals(
        self,
        study: Study,
        trial: FrozenTrial,
        params: Internal,
        trials: Sequence[FrozenTrial],
        known: int,
    ) -> list[int]:
        """Return the trials that have taken the same point since the first ``known`` were read."""
        others = [*self._running(study, trial, trials), *self._archive.read_since(known)]
        return [number for number, theirs in others if theirs == params]

    def __getstate__(self) -> dict[str, Any]:
        # A copy rereads, wherever it is.
        own = ("_lock", "_archive", "_just_read", "_shown")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_up()
