"""The sampler: calibrated Bayesian optimisation behind Optuna's interface."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from calibrant.acquisition.base import Acquisition
from calibrant.core import validate
from calibrant.core.cube import Cube, Design
from calibrant.core.threads import one_thread
from calibrant.core.typing import FloatArray
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
from calibrant.search.earlier import first_point
from calibrant.search.history import History
from calibrant.search.initial_design import is_startup, startup_point
from calibrant.search.notices import Notices
from calibrant.search.several import checked_reference
from calibrant.search.step import Fits, Policy, Suggestion
from calibrant.search.training import TrainingData
from calibrant.studies import optuna_private
from calibrant.studies.archive import Archive, running_points
from calibrant.studies.budget import Budget
from calibrant.studies.candidates import CANDIDATE
from calibrant.studies.domain import domain_of
from calibrant.studies.earlier import Earlier, EarlierStudies
from calibrant.studies.pricing import Pricing
from calibrant.studies.randomness import Randomness
from calibrant.studies.shown import ShownForecasts
from calibrant.studies.space import Internal, Space, searchable
from calibrant.studies.structure import keep
from calibrant.studies.suggestions import showing, signs, store

_ATTEMPTS = 8  # at a point that no other worker has just taken
_FRESH = 1.0  # seconds for which what a trial has read of its study need not be read again
_DESIGN_KEY = "calibrant:design"  # the seed of the first points, shared by all workers


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
        model: what forecasts outcomes; by default Gaussian processes with three kernels, used in
            rotation.
        recalibrator: what makes its forecasts true inside the acquisition; None: uncalibrated.
        calibration_set: the outcomes it learns from: "leave-one-out", "time-series" or "online", or
            a :class:`~calibrant.recalibration.CalibrationSet` for the details. By default
            leave-one-out, for expected improvement with both signs (spread and no shift); a name
            alone means with shift.
        acquisition: what makes a point worth evaluating.
        n_startup_trials: how many trials must have finished before the model is asked, pruned ones
            that have reported included; by default 5. With 0 it is asked after the first.
        design: how they are spread: "latin", "sobol" or "random".
        repeats: whether a setting may be evaluated twice.
        patience: after so many suggestions in a row without an improvement, forecasts are made
            wider and wider; None: never.
        min_feasible: suggestions are settings that meet all constraints with at least this
            calibrated probability or, where there are none, those most likely to. By default the
            probability is weighed against the improvement.
        reference_point: of two to four objectives, for each the worst value that is of any use, in
            the study's own units and directions. What is worse in any objective counts for nothing;
            the search maximises the hypervolume up to there. By default it is inferred: half the
            extent of the front so far beyond its worst values.
        search_space: the parameters, where they are known beforehand, as distributions or as
            :func:`~calibrant.minimize` takes them; by default they are learned from the trials, and
            those that start before the first has ended are drawn at random. Ranges must be those
            that the objective asks for: a suggestion outside them is not used.
        such_that: constraints between parameters that every suggestion keeps to, as text
            (``"a + b <= 1"``) or functions of a setting; they need the ``search_space``.
        candidates: the only settings to suggest, as a table (see :func:`~calibrant.minimize`); its
            columns are the parameters, and the name of a trial's candidate is its user attribute
            ``candidate``.
        fixed: parameters that are given rather than chosen (``{"batch": "A"}``): the model learns
            across their values, and the best setting for the given ones is sought. Optuna's
            ``enqueue_trial`` and ``PartialFixedSampler`` do the same for what they fix.
        seed: of all random choices. A search that is stopped and resumed goes on with the random
            numbers that it would have drawn.
        budget: of what trials cost, where they differ: improvement is then weighed against the
            price. Give it as a callback too, to stop when it is spent.
        earlier: studies of related problems (other data, other ranges, more or fewer parameters),
            or :class:`~calibrant.Earlier` where parameters have other names now. Every other first
            point is what they hold best, and the model learns how far their forecasts hold.
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
        self._budget = budget
        self._pricing = None if budget is None else Pricing(budget)
        self._policy = Policy(
            model, recalibrator, calibration_set, acquisition, repeats, patience, min_feasible
        )
        self._reference = None if reference_point is None else checked_reference(reference_point)
        self._n_startup_trials = validate.at_least("n_startup_trials", n_startup_trials, 0)
        self._design = validate.choice("design", Design, design)
        self._domain = domain_of(search_space, such_that, candidates, fixed)
        self._search_space = searchable(self._domain.distributions)
        self._earlier = EarlierStudies.of(earlier)
        if self._earlier:
            informed(model, ())  # raises if it cannot be told
        self._random = Randomness(None if seed is None else validate.at_least("seed", seed, 0))
        self._lock = threading.RLock()
        self._archive = Archive()
        self._last: tuple[Mapping[str, BaseDistribution], Fits] = ({}, Fits())
        # A study, the trial that has read all its trials, when, and these.
        self._just_read: tuple[Study, int, float, Sequence[FrozenTrial]] | None = None
        self._notices = Notices()
        self._shown = ShownForecasts(go_on=True)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        self._check_reference(study)
        with self._lock:
            self._earlier.check(study)
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
            fits = self._fit(self._policy_of(study, space).prepare(history, space.cube), space)
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
        objectives = len(study.directions)
        if self._random.seed is not None:  # else there is no place to find, and nothing to read
            self._random.go_on(trials, trial.number)
        before = self._random.state()
        avoided: list[Internal] = []
        for _ in range(_ATTEMPTS):
            running = [params for _, params in self._running(study, trial, trials)]
            history = self._archive.history(space, objectives, [*running, *avoided])
            suggestion = self._suggest(study, trial, space, history, fixed)
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
                history = self._archive.history(space, objectives, [*running, *avoided])
                further = self._suggest(study, trial, space, history, fixed)
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

    def _suggest(
        self, study: Study, trial: FrozenTrial, space: Space, history: History, fixed: Internal
    ) -> Suggestion:
        """Return a point and, as soon as there is a model, what it forecasts of it."""
        given = len(fixed) == space.cube.dim  # nothing is left to choose
        part = space.cube if given else self._domain.cube(space, fixed)
        if is_startup(history, self._n_startup_trials):
            if given:
                return Suggestion(space.row(space.existing(fixed)))
            taken, notices = self._policy.taken(history, part)
            self._notices.say(notices)
            own = self._own_place(study, trial, space, history, part, taken)
            x = startup_point(own, part, taken, self._random.rng)
            if self._pricing is not None:
                self._pricing.update(self._archive, space)
                x = self._pricing.affordable(x, space, study, trial, part)
            x = self._settled(space, x, fixed)
            return Suggestion(x, cost=self._expected_cost(x, space))
        policy = self._policy_of(study, space)
        data = policy.prepare(history, space.cube)
        fits = self._fit(data, space)
        self._last = (space.distributions, fits)
        self._notices.say(data.notices)
        frugality = None
        if self._pricing is not None:
            self._pricing.update(self._archive, space)
            frugality = self._pricing.frugality(study, trial)
        if given:
            x = space.row(space.existing(fixed))
        else:
            chosen, notices = policy.choose(history, data, fits, part, self._random.rng, frugality)
            self._notices.say(notices)
            x = self._settled(space, chosen, fixed)
        suggestion = policy.forecast(x, data, fits)
        return replace(suggestion, cost=self._expected_cost(x, space))

    def _expected_cost(self, x: FloatArray, space: Space) -> float | None:
        return None if self._pricing is None else self._pricing.expected(x, space)

    def _settled(self, space: Space, x: FloatArray, fixed: Internal) -> FloatArray:
        """Return the point that a trial has whose other values are given."""
        return space.row(space.existing({**self._domain.internal(space, x), **fixed}))

    def _fit(self, data: TrainingData, space: Space) -> Fits:
        """Fit the models, continuing from those of the last suggestion if parameters are the same.

        They are not kept here: a look at forecasts must not change what is suggested next.
        """
        last_space, last_fits = self._last
        last = last_fits if last_space == space.distributions else None
        return self._policy.fit(data, space.cube, last)

    def _policy_of(self, study: Study, space: Space) -> Policy:
        """Return the policy, with what this study says, and earlier ones taught.

        The reference point is as the study's objectives are minimised.
        """
        policy = self._policy
        if self._earlier:
            policy = replace(policy, model=self._earlier.informed(policy.model, space))
            self._notices.say(self._earlier.notices)
        if self._reference is None:
            return policy
        flipped = tuple(float(value) for value in signs(study) * self._reference)
        return replace(policy, reference_point=flipped)

    def _check_reference(self, study: Study) -> None:
        """Raise if the reference point is one of a study with more or fewer objectives."""
        given, objectives = self._reference, len(study.directions)
        if given is not None and len(given) != objectives:
            raise ValueError(
                f"`reference_point` must hold one number per objective, but got {len(given)} for a "
                f"study of {objectives}; of one, or of five and more, leave it out."
            )

    def _own_place(
        self,
        study: Study,
        trial: FrozenTrial,
        space: Space,
        history: History,
        cube: Cube,
        taken: Set[bytes],
    ) -> FloatArray:
        """Return the trial's own point of a design that all workers share, if it has one.

        Some are what earlier studies hold best instead.
        """
        lessons = self._earlier.lessons(space) if self._earlier else ()
        if lessons and trial.number < max(1, self._n_startup_trials):
            self._notices.say(self._earlier.notices)
            rng = np.random.default_rng([self._design_seed(study), trial.number])
            x = first_point(lessons, trial.number, history, cube, rng, taken)
            if x is not None:
                return x[None]
        if trial.number >= self._n_startup_trials:
            return np.empty((0, cube.dim))
        rng = np.random.default_rng(self._design_seed(study))
        points = cube.design(self._design, self._n_startup_trials, rng)
        return points[trial.number : trial.number + 1]

    def _design_seed(self, study: Study) -> int:
        """Return the seed of the design, drawn by the first worker that needs it."""
        if self._random.seed is not None:
            return self._random.seed
        known = optuna_private.study_note(study, _DESIGN_KEY)
        if not isinstance(known, int) or known < 0:
            known = int(self._random.rng.integers(2**31))
            optuna_private.note_study(study, _DESIGN_KEY, known)
        return int(known)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # A copy rereads, wherever it is.
        for name in ("_lock", "_archive", "_last", "_just_read", "_shown", "_pricing"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._archive, self._last = threading.RLock(), Archive(), ({}, Fits())
        self._just_read = None
        self._shown = ShownForecasts(go_on=True)
        self._pricing = None if self._budget is None else Pricing(self._budget)
