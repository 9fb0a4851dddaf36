"""From what is known to the next point: the paper's Algorithm 3, one step of it.

    fit          history ──▶ model.fit ──▶ belief about the function
    recalibrate  calibration set ──▶ recalibrator ──▶ shape
    believe      failed points are as bad as the worst, running ones come out as expected
    choose       belief ∘ shape ──▶ acquisition ──▶ argmax ──▶ suggestion, with its raw forecast

Everything here minimises. Nothing here remembers (but for what the user has been told): what one
step can reuse of the last is handed from one to the next.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from calibrant import checks
from calibrant.acquisition import (
    Acquisition,
    Belief,
    Criterion,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    scalarised_improvement,
    total,
)
from calibrant.calibration_set import CalibrationSet, Splits
from calibrant.cube import SMALL, Cube, keys
from calibrant.forecast import STANDARD_NORMAL, Forecast, Normal
from calibrant.gaussian import FloatArray
from calibrant.history import History
from calibrant.maximize import maximize
from calibrant.models.additive import Additive
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import RBF
from calibrant.models.protocol import (
    CanRefit,
    FittedModel,
    GaussianBelief,
    HasLimit,
    KnowsLabels,
    Model,
)
from calibrant.models.rotation import Rotation
from calibrant.outcomes import Outcomes
from calibrant.recalibrate import (
    ChainRecalibrator,
    GaussianRecalibrator,
    OnlineRecalibrator,
    Recalibrator,
)
from calibrant.shape import compose

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

Fits = tuple[FittedModel, ...]  # one an objective, then one a constraint


@dataclass(frozen=True)
class Suggestion:
    """A point to evaluate, and what was forecast of it: one raw forecast an objective."""

    x: FloatArray
    forecasts: tuple[Forecast, ...] = ()
    fits: Fits = field(default=(), repr=False, compare=False)


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
        checks.like("model", self.model, Model, "GaussianProcess()")
        checks.like("acquisition", self.acquisition, Acquisition, "ExpectedImprovement()")
        if self.recalibrator is not None:
            checks.like("recalibrator", self.recalibrator, Recalibrator, "GaussianRecalibrator()")
        if self.patience is not None:
            checks.at_least("patience", self.patience, 1)
        if not isinstance(self.calibration_set, CalibrationSet | None):
            object.__setattr__(self, "calibration_set", CalibrationSet(self.calibration_set))

    def suggest(
        self, history: History, cube: Cube, rng: np.random.Generator, last: Fits | None = None
    ) -> Suggestion:
        """Return the next point to evaluate (Algorithm 3, lines 4 to 8)."""
        fits = self.fit(history, cube, last)
        return self.forecast(self.choose(history, cube, rng, fits), history, fits)

    def fit(self, history: History, cube: Cube, last: Fits | None = None) -> Fits:
        """Return the models of objectives and constraints, going on from the ``last`` fits."""
        model, targets = self._model_on(cube), _targets(self._bearable(history))
        known = last if last is not None and len(last) == len(targets) else [None] * len(targets)
        return tuple(
            before.refit(X, y) if isinstance(before, CanRefit) else model.fit(X, y)
            for before, (X, y) in zip(known, targets, strict=True)
        )

    def choose(
        self, history: History, cube: Cube, rng: np.random.Generator, fits: Fits
    ) -> FloatArray:
        """Return the point that the acquisition values most, according to calibrated beliefs."""
        part = self._bearable(history)
        shapes = self._shapes(part, cube, fits)
        if (doubt := self._doubt(history)) > 1.0:
            shapes[0] = compose(Normal(0.0, doubt), shapes[0])
        criterion = self._criterion(part, cube, fits, shapes, rng)
        best_first = np.argsort(history.merit, kind="stable")
        return maximize(criterion, cube, rng, history.X[best_first[:4]], self._taken(history, cube))

    def forecast(self, x: FloatArray, history: History, fits: Fits) -> Suggestion:
        """Return the point with the raw forecasts of its outcomes, one an objective."""
        objectives = fits[: history.Y.shape[1]]
        return Suggestion(x, tuple(fitted.predict(x[None])[0] for fitted in objectives), fits)

    def _bearable(self, history: History) -> History:
        """Return what of a history the model is given."""
        most = self.model.most_outcomes if isinstance(self.model, HasLimit) else None
        if most is None or max(history.Y.shape[0], history.failed.shape[0]) <= most:
            return history
        self._say_once(
            f"More than {most} outcomes: from now on the model is fitted to the best, the latest "
            f"and an even choice of the others, {most} in all. For more, set its `most_outcomes`."
        )
        return history.part(most)

    def _taken(self, history: History, cube: Cube) -> frozenset[bytes]:
        """Return the keys of points not to be suggested again."""
        if self.repeats:
            return frozenset()
        without_outcome = np.concatenate([history.failed, history.pending])
        taken = frozenset(keys(np.concatenate([history.X, without_outcome])))
        if cube.size <= min(SMALL, len(taken)) and taken.issuperset(keys(cube.every_point())):
            self._say_once(
                f"All {int(cube.size)} settings have been tried. From now on those that succeeded "
                "are repeated: that is of use only if outcomes are noisy."
            )
            return frozenset(keys(without_outcome))
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

    def _shapes(self, history: History, cube: Cube, fits: Fits) -> list[Forecast]:
        """Return what recalibration makes of each model's scores."""
        if self.recalibrator is None:
            return [STANDARD_NORMAL] * len(fits)
        scored, model, shapes = self._calibration_set_of(history), self._model_on(cube), []
        # Constraints have no forecasts on record: their online set is empty.
        online = [*history.online, *[Outcomes()] * len(fits)]
        for fitted, (X, y), log in zip(fits, _targets(history), online, strict=False):
            outcomes = scored.outcomes(model, fitted, X, y, log)
            shapes.append(outcomes.recalibrate(self.recalibrator).shape)
        return shapes

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
        return float(np.clip(history.in_vain / self.patience, 1.0, _MOST_DOUBT))

    def _criterion(
        self,
        history: History,
        cube: Cube,
        fits: Fits,
        shapes: list[Forecast],
        rng: np.random.Generator,
    ) -> Criterion:
        """Return the function of points to maximise."""
        objectives = history.Y.shape[1]
        model = self._model_on(cube)
        # The bound on a failed point is on its objective; its constraints are as the worst seen.
        unknown = np.full(history.failed.shape[0], np.nan)
        bounds = [history.failed_at_least] * objectives + [unknown] * (len(fits) - objectives)
        believed = [
            _believe(model, fitted, history, *target, at_least)
            for fitted, target, at_least in zip(fits, _targets(history), bounds, strict=True)
        ]
        beliefs = believed[:objectives]
        criteria = [
            _FEASIBILITY.criterion(Belief(one.fitted, shape, _in_units(one.fitted, 0.0)), rng, cube)
            for one, shape in zip(believed[objectives:], shapes[objectives:], strict=True)
        ]
        if not history.feasible.any():  # nothing to improve on yet: look for something feasible
            return total(criteria)
        # Running points count as reached: another next to them is no improvement.
        reached = np.concatenate(
            [
                history.feasible,
                np.zeros(history.failed.shape[0], dtype=bool),
                np.ones(history.pending.shape[0], dtype=bool),
            ]
        )
        means = np.array([belief.means[reached] for belief in beliefs])
        if objectives == 1:
            best = float(means[0].min())
            if history.pending.size:  # beside a running point, a hair's breadth is no improvement
                best -= _BREADTH * _spread_of_the_good(means[0])
            belief = Belief(beliefs[0].fitted, shapes[0], best)
            return total([self.acquisition.criterion(belief, rng, cube), *criteria])
        return total([_of_several(beliefs, shapes[:objectives], means, rng), *criteria])


def _spread_of_the_good(means: FloatArray) -> float:
    """Return the std of the best quarter: it shrinks as a search comes closer, that of all not."""
    return float(np.std(np.sort(means)[: max(5, means.size // 4)]))


class _Believed(NamedTuple):
    fitted: FittedModel
    means: FloatArray  # at evaluated, failed and pending points, in the model's units


def _believe(
    model: Model,
    fitted: FittedModel,
    history: History,
    X: FloatArray,
    y: FloatArray,
    at_least: FloatArray,
) -> _Believed:
    """Return the model after imagined outcomes of failed and running points.

    A failed one is taken to be as bad as the worst seen, or as its own bound says; a running one
    to come out as expected, so that it draws no other point to it.
    """
    bound = np.where(np.isnan(at_least), y.max(), at_least)
    if isinstance(fitted, GaussianBelief):
        fitted = fitted.condition(history.failed, fitted.in_model_units(bound))
        fitted = fitted.condition(history.pending)
        return _Believed(fitted, fitted.means())
    means = y
    if history.failed.size + history.pending.size:
        expected = (
            fitted.predict(history.pending).quantile(0.5) if history.pending.size else np.empty(0)
        )
        X = np.concatenate([X, history.failed, history.pending])
        means = np.concatenate([y, bound, expected])
        fitted = model.fit(X, means)
    return _Believed(fitted, means)


def _of_several(
    beliefs: list[_Believed],
    shapes: list[Forecast],
    means: FloatArray,
    rng: np.random.Generator,
) -> Criterion:
    """Return the expected improvement of several objectives, scalarised at random (Chebyshev)."""
    if not all(isinstance(one.fitted, GaussianBelief) for one in beliefs):
        raise ValueError(
            "Several objectives need a model that is a GaussianBelief, such as GaussianProcess."
        )
    weights = np.maximum(rng.dirichlet(np.ones(len(beliefs))), 1e-2)
    ideal = means.min(axis=1)
    best = (weights[:, None] * (means - ideal[:, None])).max(axis=0).min()
    goals = [
        Belief(belief.fitted, shape, float(low + best / weight))
        for belief, shape, low, weight in zip(beliefs, shapes, ideal, weights, strict=True)
    ]
    return scalarised_improvement(goals, weights)


def _targets(history: History) -> list[tuple[FloatArray, FloatArray]]:
    """Return what is to be modelled, inputs and outcomes: objectives, then constraints."""
    said = [~np.isnan(column) for column in history.constraints.T]
    return [
        *((history.X, y) for y in history.Y.T),
        *(
            (history.X[s], _finite(y[s]))
            for s, y in zip(said, history.constraints.T, strict=True)
            if s.any()
        ),
    ]


def _finite(limits: FloatArray) -> FloatArray:
    """Return constraint values with ±inf as the largest size seen."""
    sizes = np.abs(limits[np.isfinite(limits)])
    largest = float(sizes.max(initial=0.0)) or 1.0
    return np.clip(limits, -largest, largest)


def _in_units(fitted: FittedModel, y: float) -> float:
    return float(fitted.in_model_units(y)) if isinstance(fitted, GaussianBelief) else y
