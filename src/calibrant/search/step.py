"""From what is known to the next point: the paper's Algorithm 3, one step of it.

    fit          history ──▶ model.fit ──▶ belief about the function recalibrate  calibration set
    ──▶ recalibrator ──▶ residual believe      running points come out as expected, pruned ones as
    their reports extrapolated, failed
                 ones as the worst, give or take
    choose       belief ∘ residual ──▶ acquisition ──▶ argmax ──▶ suggestion, with its raw forecast

Everything here minimises. Nothing here remembers (but for what the user has been told): what one
step can reuse of the last is handed from one to the next.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from calibrant.acquisition.base import Acquisition, Belief, Criterion, total
from calibrant.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibrant.acquisition.multiobjective import scalarised_improvement
from calibrant.core import validate
from calibrant.core.cube import SMALL, Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.normal import STANDARD_NORMAL, Normal
from calibrant.forecasts.residual import compose
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels.additive import Additive
from calibrant.models.kernels.stationary import RBF, Matern52
from calibrant.models.likelihood import Priors, enough
from calibrant.models.protocol import (
    CanRefit,
    FittedModel,
    GaussianBelief,
    HasLimit,
    KnowsLabels,
    Model,
)
from calibrant.models.rotation import Rotation
from calibrant.recalibration import (
    ChainRecalibrator,
    GaussianRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
)
from calibrant.recalibration.calibration_sets import CalibrationSet, Splits
from calibrant.recalibration.score_log import ScoreLog
from calibrant.search.argmax import maximize
from calibrant.search.history import History

# What a user who sets nothing gets. All of them are values: nothing can change them.
MODEL = Rotation(
    tuple(
        GaussianProcess(kernel)
        for kernel in (Additive(), Additive(whole=RBF), Additive(per_dimension=True))
    )
)
# Inside the acquisition, from leave-one-out scores: slowly, and not from the size of outliers.
RECALIBRATOR = GaussianRecalibrator(strength=10.0, limit=2.5)
ACQUISITION = ExpectedImprovement()

# Points to spread before a model is asked. More of them, in many dimensions, cost more evaluations
# than the better first fit is worth.
INITIAL = 5

# What a model takes for noise may be structure, and then it sees no reason to leave a bad place.
PATIENCE = 10

# Intervals shown to people are recalibrated online: the guarantee is about these. Steps of 0.02
# suit the tens to hundreds of outcomes of a search: larger ones play infinite ends in a short
# run of bad luck. Location and scale are learned faster, and not from the size of outliers: the
# less they trust the model, the more intervals hold, and the wider they are for it.
SHOWN = ChainRecalibrator(
    GaussianRecalibrator(strength=10.0, limit=4.0), OnlineRecalibrator(rate=0.02)
)

_LOG = logging.getLogger("calibrant")
_FEASIBILITY = ProbabilityOfImprovement(margin=0.0)  # a constraint is met where it falls below 0
_MOST_DOUBT = 3.0  # times its std
_BREADTH = 0.03  # of the spread of the good outcomes
_BEYOND = 0.5  # of the std of outcomes, below the lowest: where several objectives aim at
_FLOATS = (-np.finfo(float).max, np.finfo(float).max)

# Whether evaluations finish is modelled as a constraint: −1 where one did, 1 where it failed. With
# noise, as some failures are nobody's fault: else one beside the minimum would be a wall around it.
_FINISHING = GaussianProcess(Matern52(), "standardise", Priors(noise=(0.1, 2.0)))
_SAFE = -0.7  # what is labelled lower: where 85 % of evaluations finish


class Fits(NamedTuple):
    """The models of a step."""

    objectives: tuple[FittedModel, ...] = ()
    constraints: tuple[FittedModel, ...] = ()
    finishing: FittedModel | None = None  # where some evaluations failed


@dataclass(frozen=True)
class Suggestion:
    """A point to evaluate, and what was forecast of it: one raw forecast an objective."""

    x: FloatArray
    forecasts: tuple[Forecast, ...] = ()
    fits: Fits = field(default=Fits(), repr=False, compare=False)


@dataclass(frozen=True)
class Policy:
    """How points are chosen.

    Args:
        model: what to fit; unless given, Gaussian processes with three kernels that take turns.
        recalibrator: what learns from the calibration set, or None to trust the model as it is.
        calibration_set: the outcomes it learns from; None: leave-one-out scores, symmetric ones for
            expected improvement, which a shift leads astray.
        acquisition: what makes a point worth evaluating, for one objective. Several objectives are
            scalarised at random, and their expected improvement taken.
        repeats: whether a point may be evaluated twice, as makes sense for noisy outcomes in a
            finite space.
        patience: after so many suggestions in a row that were no improvement the model is doubted:
            its forecasts are made wider, after twice as many twice as wide, three times at most.
            None: never. For one objective; several are scalarised anew at each step, which keeps
            them moving.
    """

    model: Model = MODEL
    recalibrator: Recalibrator | None = RECALIBRATOR
    calibration_set: CalibrationSet | Splits | str | None = None
    acquisition: Acquisition = ACQUISITION
    repeats: bool = False
    patience: int | None = PATIENCE
    _said: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        validate.like("model", self.model, Model, "GaussianProcess()")
        validate.like("acquisition", self.acquisition, Acquisition, "ExpectedImprovement()")
        if self.recalibrator is not None:
            validate.like("recalibrator", self.recalibrator, Recalibrator, "GaussianRecalibrator()")
        if self.patience is not None:
            validate.at_least("patience", self.patience, 1)
        if not isinstance(self.calibration_set, CalibrationSet | None):
            object.__setattr__(self, "calibration_set", CalibrationSet(self.calibration_set))

    def suggest(
        self, history: History, cube: Cube, rng: np.random.Generator, last: Fits | None = None
    ) -> Suggestion:
        """Return the next point to evaluate (Algorithm 3, lines 4 to 8)."""
        fits = self.fit(history, cube, last)
        return self.forecast(self.choose(history, cube, rng, fits), history, fits)

    def fit(self, history: History, cube: Cube, last: Fits | None = None) -> Fits:
        """Return the models of objectives, of constraints and of where evaluations fail.

        The first two go on from the ``last`` fits.
        """
        part, last, model = self._bearable(history), last or Fits(), self._model_on(cube)
        objectives = _fitted(model, _objectives(part), last.objectives)
        constraints = _fitted(model, _constraints(part), last.constraints)
        told = part.without_penalties()
        # Where a criterion is flat in places, as a forest's is, this alone would decide there.
        if not told.failed.size or not isinstance(objectives[0], GaussianBelief):
            return Fits(objectives, constraints)
        finished, failed = (X[enough(len(X))] for X in (told.X, told.failed))
        labels = np.repeat([-1.0, 1.0], [len(finished), len(failed)])
        finishing = _FINISHING.with_labels(cube.categorical)
        return Fits(
            objectives, constraints, finishing.fit(np.concatenate([finished, failed]), labels)
        )

    def choose(
        self, history: History, cube: Cube, rng: np.random.Generator, fits: Fits
    ) -> FloatArray:
        """Return the point that the acquisition values most, according to calibrated beliefs."""
        part = self._bearable(history)
        residuals = self._residuals(part, cube, fits)
        if (doubt := self._doubt(history)) > 1.0:
            residuals[0] = compose(Normal(0.0, doubt), residuals[0])
        criterion = self._criterion(part, cube, fits, residuals, rng)
        best_first = np.argsort(history.merit, kind="stable")
        return maximize(criterion, cube, rng, history.X[best_first[:4]], self.taken(history, cube))

    def forecast(self, x: FloatArray, history: History, fits: Fits) -> Suggestion:
        """Return the point with the raw forecasts of its outcomes, one an objective."""
        return Suggestion(x, tuple(fitted.predict(x[None])[0] for fitted in fits.objectives), fits)

    def _bearable(self, history: History) -> History:
        """Return what of a history the model is given."""
        most = self.model.most_outcomes if isinstance(self.model, HasLimit) else None
        longest = max(map(len, (history.Y, history.failed, history.pruned)))
        if most is None or longest <= most:
            return history
        self._say_once(
            f"More than {most} outcomes: from now on the model is fitted to the best, the latest "
            f"and an even choice of the others, {most} in all. For more, set its `most_outcomes`."
        )
        return history.part(most)

    def taken(self, history: History, cube: Cube) -> frozenset[bytes]:
        """Return the keys of points not to be suggested again."""
        if self.repeats:
            return frozenset()
        taken = frozenset(keys(np.concatenate([history.X, history.without_outcome])))
        if cube.size <= min(SMALL, len(taken)) and taken.issuperset(keys(cube.every_point())):
            self._say_once(
                f"All {int(cube.size)} settings have been tried. From now on those that succeeded "
                "are repeated: that is of use only if outcomes are noisy."
            )
            return frozenset(keys(history.without_outcome))
        return taken

    def _say_once(self, text: str) -> None:
        """Tell the user something that stays true for the rest of the search."""
        if text not in self._said:
            self._said.add(text)
            _LOG.warning(text)

    def _model_on(self, cube: Cube) -> Model:
        """Return the model, told which coordinates are labels."""
        model = self.model
        return model.with_labels(cube.categorical) if isinstance(model, KnowsLabels) else model

    def _residuals(self, history: History, cube: Cube, fits: Fits) -> list[Forecast]:
        """Return what recalibration makes of each model's scores: objectives', constraints'."""
        models = (*fits.objectives, *fits.constraints)
        if self.recalibrator is None:
            return [STANDARD_NORMAL] * len(models)
        scored, model, residuals = self._calibration_set_of(history), self._model_on(cube), []
        # Constraints have no forecasts on record: their online set is empty.
        online = [*history.online, *[ScoreLog()] * len(fits.constraints)]
        targets = [*_objectives(history), *_constraints(history)]
        for fitted, (X, y), log in zip(models, targets, online, strict=True):
            outcomes = scored.outcomes(model, fitted, X, y, log)
            residuals.append(outcomes.recalibrate(self.recalibrator).residual)
        return residuals

    def _calibration_set_of(self, history: History) -> CalibrationSet:
        """Return the outcomes to learn from: by default those that suit the acquisition."""
        if isinstance(self.calibration_set, CalibrationSet):
            return self.calibration_set
        several = history.Y.shape[1] > 1  # and then it is expected improvement, whatever was named
        return CalibrationSet(symmetric=several or not self.acquisition.takes_shift)

    def _doubt(self, history: History) -> float:
        """Return by how much to stretch forecasts of a search that finds nothing better."""
        if self.patience is None or history.Y.shape[1] > 1:
            return 1.0
        return float(np.clip(history.stagnation / self.patience, 1.0, _MOST_DOUBT))

    def _criterion(
        self,
        history: History,
        cube: Cube,
        fits: Fits,
        residuals: list[Forecast],
        rng: np.random.Generator,
    ) -> Criterion:
        """Return the function of points to maximise."""
        objectives, model = history.Y.shape[1], self._model_on(cube)
        # The reports of what was pruned say nothing about constraints.
        silent = replace(history, pruned=history.pruned[:0], extrapolated=history.extrapolated[:0])
        limits = [
            (_believe(model, fitted, silent, X, y).fitted, residual, 0.0)
            for fitted, (X, y), residual in zip(
                fits.constraints, _constraints(history), residuals[objectives:], strict=True
            )
        ]
        if fits.finishing is not None:
            limits.append((fits.finishing, STANDARD_NORMAL, _SAFE))
        criteria = [
            _FEASIBILITY.criterion(Belief(fitted, residual, _in_units(fitted, most)), rng, cube)
            for fitted, residual, most in limits
        ]
        told = history.without_penalties()
        if not told.feasible.any():  # nothing to improve on yet: look for something feasible
            return total(criteria)
        beliefs = [
            _believe(model, fitted, told, X, y)
            for fitted, (X, y) in zip(fits.objectives, _objectives(history), strict=True)
        ]
        # Running points count as reached: another next to them is no improvement.
        reached = np.concatenate(
            [
                told.feasible,
                np.zeros(len(told.failed) + len(told.pruned), dtype=bool),
                np.ones(len(told.pending), dtype=bool),
            ]
        )
        means = np.array([belief.means[reached] for belief in beliefs])
        if objectives == 1:
            best = float(means[0].min())
            if history.pending.size:  # beside a running point, a hair's breadth is no improvement
                best -= _BREADTH * _spread_of_the_good(means[0, : int(told.feasible.sum())])
            belief = Belief(beliefs[0].fitted, residuals[0], best)
            return total([self.acquisition.criterion(belief, rng, cube), *criteria])
        return total([_of_several(beliefs, residuals[:objectives], means, rng), *criteria])


def _spread_of_the_good(means: FloatArray) -> float:
    """Return the std of the best quarter: it shrinks as a search comes closer, that of all not."""
    return float(np.std(np.sort(means)[: max(5, means.size // 4)]))


Targets = list[tuple[FloatArray, FloatArray]]  # inputs and outcomes of what is modelled


def _fitted(
    model: Model, targets: Targets, last: tuple[FittedModel, ...]
) -> tuple[FittedModel, ...]:
    """Return a model of each target, going on from the last ones if there are as many."""
    known = last if len(last) == len(targets) else [None] * len(targets)
    return tuple(
        before.refit(X, y) if isinstance(before, CanRefit) else model.fit(X, y)
        for before, (X, y) in zip(known, targets, strict=True)
    )


class _Believed(NamedTuple):
    fitted: FittedModel
    means: FloatArray  # at evaluated, failed, pruned and pending points, in the model's units


def _believe(
    model: Model, fitted: FittedModel, history: History, X: FloatArray, y: FloatArray
) -> _Believed:
    """Return a model after imagined outcomes of points that have none.

    A failed one is taken to be as bad as the worst, give or take the std of all; a pruned one to
    come out as extrapolated, a running one as expected, so that it draws no other point to it.
    """
    value, std = history.extrapolated.T
    worst = np.full(history.failed.shape[0], y.max())
    if isinstance(fitted, GaussianBelief):
        with np.errstate(over="ignore"):
            low, high = fitted.in_model_units(np.clip([value - std, value + std], *_FLOATS))
        fitted = fitted.condition(history.failed, fitted.in_model_units(worst), std=1.0)
        fitted = fitted.condition(
            history.pruned, fitted.in_model_units(value), std=0.5 * (high - low)
        )
        fitted = fitted.condition(history.pending)
        return _Believed(fitted, fitted.means())
    without = history.without_outcome
    if not without.size:
        return _Believed(fitted, y)
    expected = fitted.predict(history.pending).quantile(0.5) if history.pending.size else ()
    means = np.concatenate([y, worst, value, expected])
    return _Believed(model.fit(np.concatenate([X, without]), means), means)


def _of_several(
    beliefs: list[_Believed],
    residuals: list[Forecast],
    means: FloatArray,
    rng: np.random.Generator,
) -> Criterion:
    """Return the expected improvement of several objectives, scalarised at random (Chebyshev)."""
    if not all(isinstance(one.fitted, GaussianBelief) for one in beliefs):
        raise ValueError(
            "Several objectives need a model that is a GaussianBelief, such as GaussianProcess."
        )
    weights = np.maximum(rng.dirichlet(np.ones(len(beliefs))), 1e-2)
    ideal = means.min(axis=1) - _BEYOND
    best = (weights[:, None] * (means - ideal[:, None])).max(axis=0).min()
    goals = [
        Belief(belief.fitted, residual, float(low + best / weight))
        for belief, residual, low, weight in zip(beliefs, residuals, ideal, weights, strict=True)
    ]
    return scalarised_improvement(goals, weights)


def _objectives(history: History) -> Targets:
    told = history.without_penalties()
    return [(told.X, y) for y in told.Y.T]


def _constraints(history: History) -> Targets:
    """Return the constraints that some evaluations have told of, each where they did."""
    said = [~np.isnan(column) for column in history.constraints.T]
    return [
        (history.X[s], _finite(y[s]))
        for s, y in zip(said, history.constraints.T, strict=True)
        if s.any()
    ]


def _finite(limits: FloatArray) -> FloatArray:
    """Return constraint values with ±inf as the largest size seen."""
    sizes = np.abs(limits[np.isfinite(limits)])
    largest = float(sizes.max(initial=0.0)) or 1.0
    return np.clip(limits, -largest, largest)


def _in_units(fitted: FittedModel, y: float) -> float:
    return float(fitted.in_model_units(y)) if isinstance(fitted, GaussianBelief) else y
