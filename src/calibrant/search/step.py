"""One step of a search, from what is known to the next point: the paper's Algorithm 3.

    prepare      history ──▶ training data
    fit          training data ──▶ models, each a belief about an objective or a constraint
    recalibrate  models ──▶ scores of a calibration set ──▶ recalibrator ──▶ residuals
    criterion    models ∘ residuals ──▶ acquisition ──▶ a function of points
    argmax       criterion ──▶ the point where it is largest
    forecast     models, point ──▶ suggestion, with the models' raw forecasts

Each is a function of values, and everything here minimises. What a step can reuse of the last one
is handed from one to the next; what the user should be told comes back with the suggestion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from calibrant.acquisition.base import Acquisition, Belief, Criterion, total
from calibrant.core import validate
from calibrant.core.cube import Cube, keys
from calibrant.core.threads import one_thread
from calibrant.core.typing import FloatArray
from calibrant.core.words import percent
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL, Normal
from calibrant.forecasts.residual import compose
from calibrant.models.informed import uninformed
from calibrant.models.protocol import CanRefit, FittedModel, GaussianBelief, Model
from calibrant.models.rotation import FittedRotation
from calibrant.recalibration.base import Recalibrator
from calibrant.recalibration.calibration_sets import CalibrationSet, Splits
from calibrant.search.argmax import argmax
from calibrant.search.defaults import ACQUISITION, MODEL, PATIENCE, RECALIBRATOR
from calibrant.search.feasibility import ROUNDING, Promise, careful
from calibrant.search.history import History
from calibrant.search.incumbent import drawn_best, to_beat
from calibrant.search.odds import finishing, log_odds
from calibrant.search.pending import kriging_believer
from calibrant.search.several import checked_reference, criterion_of_several, near
from calibrant.search.shown import Circumstances
from calibrant.search.stagnation import reach, stretch
from calibrant.search.training import Targets, TrainingData, prepare


class Fits(NamedTuple):
    """The models of a step."""

    objectives: tuple[FittedModel, ...] = ()
    constraints: tuple[FittedModel, ...] = ()
    finishing: FittedModel | None = None  # where some evaluations failed
    promising: tuple[FittedModel, ...] = ()  # one per constraint: what promises are made by


@dataclass(frozen=True)
class Suggestion:
    """A point to evaluate, and what was forecast of it.

    Args:
        x: the point.
        forecasts: one raw forecast per objective; none of a point of the initial design.
        known: in which circumstances the default model made them; None of any other model.
        limits: the raw forecasts of constraints, by name.
        feasible: the probability, as it is promised, that all constraints are met; None where there
            are none.
        fits: the models that made them, for the next step to continue from.
        notices: what the user should be told, once per search.
        cost: what its evaluation is expected to cost; None where there is no budget.
    """

    x: FloatArray
    forecasts: tuple[Forecast, ...] = ()
    known: Circumstances | None = None
    limits: Mapping[str, Forecast] = field(default_factory=dict)
    feasible: float | None = None
    fits: Fits = field(default=Fits(), repr=False, compare=False)
    notices: tuple[str, ...] = field(default=(), repr=False, compare=False)
    cost: float | None = None


@dataclass(frozen=True)
class Policy:
    """How points are chosen.

    Args:
        model: what to fit; unless given, Gaussian processes with three kernels, used in rotation.
        recalibrator: what learns from the calibration set, or None to trust the model as it is.
        calibration_set: the outcomes it learns from; None: leave-one-out scores, errors no larger
            than the spread of outcomes, and without signs for expected improvement, which a shift
            leads astray.
        acquisition: what makes a point worth evaluating, for one objective. Of two to four it is
            the expected improvement of the hypervolume that their front dominates; five and more
            are scalarised at random (ParEGO).
        repeats: whether a point may be evaluated twice, as makes sense for noisy outcomes in a
            finite space.
        patience: after so many suggestions in a row without an improvement, forecasts are made
            wider, after twice as many twice as wide, three times at most; and from then on every
            other suggestion stays beside the best point. None: neither. For one
            objective; of several, almost every step moves some part of the front.
        min_feasible: points are chosen where all constraints are met with at least this probability
            or, where that is nowhere, where it is highest. None: it is weighed against the rest.
        reference_point: of two to four objectives, the values beyond which an outcome counts for
            nothing, as they are minimised. None: half the extent of the front beyond it.
    """

    model: Model = MODEL
    recalibrator: Recalibrator | None = RECALIBRATOR
    calibration_set: CalibrationSet | Splits | str | None = None
    acquisition: Acquisition = ACQUISITION
    repeats: bool = False
    patience: int | None = PATIENCE
    min_feasible: float | None = None
    reference_point: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        validate.like("model", self.model, Model, "GaussianProcess()")
        validate.like("acquisition", self.acquisition, Acquisition, "ExpectedImprovement()")
        if self.recalibrator is not None:
            validate.like("recalibrator", self.recalibrator, Recalibrator, "ScaleRecalibrator()")
        if self.patience is not None:
            validate.at_least("patience", self.patience, 1)
        if self.min_feasible is not None:
            validate.probability_level("min_feasible", self.min_feasible)
        if self.reference_point is not None:
            object.__setattr__(self, "reference_point", checked_reference(self.reference_point))
        if not isinstance(self.calibration_set, CalibrationSet | None):
            object.__setattr__(self, "calibration_set", CalibrationSet(self.calibration_set))

    def suggest(
        self, history: History, cube: Cube, rng: np.random.Generator, last: Fits | None = None
    ) -> Suggestion:
        """Return the next point to evaluate (Algorithm 3, lines 4 to 8)."""
        data = self.prepare(history, cube)
        fits = self.fit(data, cube, last)
        x, notices = self.choose(history, data, fits, cube, rng)
        return replace(self.forecast(x, data, fits), notices=(*data.notices, *notices))

    def prepare(self, history: History, cube: Cube) -> TrainingData:
        """Return what the models of this step are given."""
        return prepare(self.model, history, cube)

    @one_thread()
    def fit(self, data: TrainingData, cube: Cube, last: Fits | None = None) -> Fits:
        """Return the models of objectives, of constraints and of where evaluations fail.

        The first two continue from the ``last`` fits.
        """
        last = last or Fits()
        objectives = _fitted(data.model, data.objectives, last.objectives, data.stds)
        constraints = _fitted(data.limit_model, data.constraints, last.constraints)
        promising = _fitted(careful(data.limit_model), data.constraints, last.promising)
        # A criterion that is flat in places, as a forest's is, would leave the choice there to this
        # model alone.
        if not data.succeeded.failed.size or not isinstance(objectives[0], GaussianBelief):
            return Fits(objectives, constraints, promising=promising)
        return Fits(objectives, constraints, finishing(data.succeeded, cube), promising)

    @one_thread()
    def choose(
        self,
        history: History,
        data: TrainingData,
        fits: Fits,
        cube: Cube,
        rng: np.random.Generator,
        frugality: Criterion | None = None,
    ) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the point that the acquisition values most, and what to tell the user about it.

        ``frugality`` is what speaks against points that cost more than others.
        """
        residuals = self.recalibrate(data, fits)
        history = data.believed(history, fits.constraints)
        nearby = reach(history, self.patience, fits.objectives[0])
        if nearby is None and (wider := stretch(history, self.patience)) > 1.0:
            residuals[0] = compose(Normal(0.0, wider), residuals[0])
        criterion = self._criterion(data, fits, residuals, cube, rng)
        if frugality is not None:
            criterion = total([criterion, frugality])
        taken, notices = self.taken(history, cube)
        best_first = near(history, rng)
        where = cube if nearby is None else cube.around(best_first[0], nearby)
        x = argmax(criterion, where, rng, best_first, taken, len(history.Y))
        return x, (*notices, *self._broken(x, data, fits))

    def recalibrate(self, data: TrainingData, fits: Fits) -> list[Forecast]:
        """Return what recalibration makes of each model's scores: objectives', constraints'."""
        models = (*fits.objectives, *fits.constraints)
        if self.recalibrator is None:
            return [STANDARD_NORMAL] * len(models)
        calibration_set, residuals = self._calibration_set_of(data), []
        online = [*data.subset.online, *data.limit_logs]
        targets = [*data.objectives, *data.constraints]
        stds = [*data.stds, *[None] * len(data.constraints)]
        fits_of = [data.model] * len(data.objectives) + [data.limit_model] * len(data.constraints)
        for model, fitted, (X, y), log, std in zip(
            fits_of, models, targets, online, stds, strict=True
        ):
            scores = calibration_set.scores(model, fitted, X, y, log, std)
            residuals.append(scores.recalibrate(self.recalibrator).residual)
        return residuals

    @one_thread()
    def forecast(self, x: FloatArray, data: TrainingData, fits: Fits) -> Suggestion:
        """Return the point with the raw forecasts of its outcomes, one per objective."""
        forecasts = tuple(fitted.predict(x[None])[0] for fitted in fits.objectives)
        known = self._circumstances(x, data, fits)
        if not fits.constraints:
            return Suggestion(x, forecasts, known, fits=fits)
        limits = [fitted.predict(x[None])[0] for fitted in fits.constraints]
        promised = float(
            Promise.of(data, fits.promising, self.min_feasible).probability(x[None])[0]
        )
        named = dict(zip(data.limit_names, limits, strict=True))
        return Suggestion(x, forecasts, known, named, promised, fits)

    def _broken(self, x: FloatArray, data: TrainingData, fits: Fits) -> tuple[str, ...]:
        """Return what to tell the user where ``min_feasible`` cannot be promised."""
        if self.min_feasible is None or not fits.constraints:
            return ()
        promised = Promise.of(data, fits.promising, self.min_feasible).probability(x[None])[0]
        if promised >= self.min_feasible - ROUNDING:
            return ()
        return (
            f"So far, no setting is expected to meet all constraints with a probability of "
            f"{percent(self.min_feasible)}: the most probable ones are suggested instead.",
        )

    def _circumstances(self, x: FloatArray, data: TrainingData, fits: Fits) -> Circumstances | None:
        """Return what a prior about forecasts of chosen points wants to know."""
        fitted = fits.objectives[0]
        if uninformed(self.model) != MODEL or not isinstance(fitted, FittedRotation):
            return None
        share, noise = fitted.shares(x[None])
        return Circumstances(
            data.objectives[0][1].size,
            x.size,
            len(data.subset.pending),
            float(share[0]),
            float(noise[0]),
            not data.subset.was_forecast.any(),
        )

    def taken(self, history: History, cube: Cube) -> tuple[frozenset[bytes], tuple[str, ...]]:
        """Return the keys of points not to be suggested again, and what to tell the user of it."""
        if self.repeats:
            return frozenset(), ()
        taken = frozenset(keys(np.concatenate([history.X, history.without_outcome])))
        if cube.countable and cube.count <= len(taken) and taken.issuperset(cube.point_keys):
            ended = {*keys(history.X), *keys(history.failed), *keys(history.pruned)}
            running = "" if ended.issuperset(cube.point_keys) else ", or are running"
            notice = (
                f"All {cube.count} settings have been tried{running}. From now on those that "
                "succeeded are repeated: that is of use only if outcomes are noisy."
            )
            return frozenset(keys(history.without_outcome)), (notice,)
        return taken, ()

    def _calibration_set_of(self, data: TrainingData) -> CalibrationSet:
        """Return the outcomes to learn from: by default those that suit the acquisition."""
        if isinstance(self.calibration_set, CalibrationSet):
            return self.calibration_set
        several = len(data.objectives) > 1  # then it is expected improvement, whatever was named
        symmetric = several or not self.acquisition.takes_shift
        return CalibrationSet(symmetric=symmetric, largest_error=1.0)

    def _criterion(
        self,
        data: TrainingData,
        fits: Fits,
        residuals: list[Forecast],
        cube: Cube,
        rng: np.random.Generator,
    ) -> Criterion:
        """Return the function of points to maximise."""
        count = len(fits.objectives)
        feasible = log_odds(data, fits.constraints, residuals[count:], fits.finishing, cube, rng)
        if self.min_feasible is not None and fits.constraints:
            feasible.append(
                Promise.of(data, fits.promising, self.min_feasible).at_least(self.min_feasible)
            )
        succeeded = data.believed(data.succeeded, fits.constraints)
        if not succeeded.feasible.any():  # nothing to improve on yet: find something feasible
            return total(feasible)
        imagined = [
            kriging_believer(data.model, fitted, data.succeeded, X, y)
            for fitted, (X, y) in zip(fits.objectives, data.objectives, strict=True)
        ]
        beliefs = [one.fitted for one in imagined]
        reached = to_beat(imagined, succeeded, cube)
        if count > 1:
            several = self._of_several(beliefs, residuals[:count], reached.means, rng)
            return total([several, *feasible])
        belief = Belief(
            beliefs[0],
            residuals[0],
            reached.best,
            data.objectives[0][1].size,
            drawn_best(beliefs[0], reached, rng),
        )
        return total([self.acquisition.criterion(belief, rng, cube), *feasible])

    def _of_several(
        self,
        beliefs: list[FittedModel],
        residuals: list[Forecast],
        means: FloatArray,
        rng: np.random.Generator,
    ) -> Criterion:
        """Return the function of points to maximise where there are several objectives."""
        return criterion_of_several(beliefs, residuals, means, self.reference_point, rng)


def _fitted(
    model: Model,
    targets: Targets,
    last: tuple[FittedModel, ...],
    stds: tuple[FloatArray | None, ...] = (),
) -> tuple[FittedModel, ...]:
    """Return a model of each target, continuing from the last ones if there are as many."""
    known = last if len(last) == len(targets) else [None] * len(targets)
    noise = [{} if std is None else {"noise": std} for std in stds or (None,) * len(targets)]
    return tuple(
        before.refit(X, y, **told) if isinstance(before, CanRefit) else model.fit(X, y, **told)
        for before, (X, y), told in zip(known, targets, noise, strict=True)
    )
