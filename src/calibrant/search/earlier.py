"""What an earlier search teaches about a new one: a forecast of its function, and first points.

A process is fitted to the outcomes of the earlier search, once. Its mean becomes a known function
of the new search's model (:mod:`calibrant.models.kernels.informed`), which learns how much to trust
it; where the earlier search was low is where the new one begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from calibrant.acquisition.base import Criterion
from calibrant.core.cube import Cube
from calibrant.core.threads import one_thread
from calibrant.core.typing import FloatArray
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import Additive
from calibrant.models.kernels.base import WithInputs
from calibrant.search.argmax import argmax
from calibrant.search.history import History
from calibrant.search.training import prepare

# Of an earlier search: a model of so many outcomes knows the function as well as is of use for
# another one, and makes no suggestion of that much slower.
_MODEL = GaussianProcess(Additive(per_dimension=True), most_outcomes=300)
_LEAST = 3  # different outcomes: two show a direction at best
_SEEN = 256  # points of the new cube at which a forecast is brought to mean 0 and variance 1
_FLAT = 1e-6  # of the std of the earlier outcomes: a forecast that varies less says nothing
_KEPT = 16  # arrays of points whose forecasts are kept: a step asks for the same ones repeatedly
_APART = 0.15  # of the cube's width and √dim: as far apart are first points that one search names
_HILL = 4.0  # stds of a forecast, by which it is raised where another first point is


@dataclass(frozen=True)
class Place:
    """Where points of the new cube are among those of an earlier search.

    Args:
        columns: for each coordinate of the earlier cube the new one that it is; −1: there is none.
        others: the value of each coordinate; that of the others counts, which do not exist now.
    """

    columns: tuple[int, ...]
    others: FloatArray

    def points(self, X: FloatArray) -> FloatArray:
        """Return points of the earlier cube."""
        there = np.repeat(self.others[None], X.shape[0], axis=0)
        for column, new in enumerate(self.columns):
            if new >= 0:
                there[:, column] = X[:, new]
        return there

    def pull_back(self, gradients: FloatArray, dim: int) -> FloatArray:
        """Return gradients by points of the new cube."""
        back = np.zeros((gradients.shape[0], dim))
        for column, new in enumerate(self.columns):
            if new >= 0:
                back[:, new] += gradients[:, column]
        return back


class Forecaster:
    """The mean of an earlier search's process as a function of the new cube: a known function."""

    def __init__(self, fitted: FittedGP, place: Place, cube: Cube) -> None:
        self._alpha = fitted.signal_variance * fitted.alpha
        self._with_inputs: WithInputs = fitted.model.kernel.with_inputs(
            fitted.parameters.kernel, fitted.X
        )
        self._place, self._dim = place, cube.dim
        self._kept = lru_cache(_KEPT)(self._computed)
        self._centre, self._scale = 0.0, 1.0
        seen, _ = self(cube.spread(_SEEN, np.random.default_rng(0)))
        self._centre, self._scale = float(seen.mean()), float(seen.std())
        self._kept.cache_clear()

    @property
    def is_flat(self) -> bool:
        """Whether all forecasts are the same."""
        return self._scale < _FLAT

    def __call__(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values at points (m, d), and their gradients (m, d)."""
        X = np.ascontiguousarray(X)
        return self._kept(X.tobytes())

    def _computed(self, raw: bytes) -> tuple[FloatArray, FloatArray]:
        X = np.frombuffer(raw).reshape(-1, self._dim)
        C, pullback = self._with_inputs(self._place.points(X))
        values = (C @ self._alpha - self._centre) / self._scale
        gradients = pullback(np.broadcast_to(self._alpha / self._scale, C.shape))
        return values, self._place.pull_back(gradients, self._dim)


@dataclass(frozen=True)
class Lesson:
    """What one earlier search taught.

    Args:
        outcome: a forecast of the function, lower is better.
        merit: the same, of evaluations that fail or break a constraint as bad as the worst.
        best: the best points of the earlier search, (k, d), on the new cube.
    """

    outcome: Forecaster
    merit: Forecaster
    best: FloatArray = field(repr=False)


@one_thread()
def learn(history: History, earlier: Cube, columns: Sequence[int], cube: Cube) -> Lesson | None:
    """Return what the outcomes of an earlier search say about a new cube; None: nothing.

    Args:
        history: of the earlier search, as points of its cube.
        earlier: its cube.
        columns: for each coordinate of it the new one that it is; −1: there is none.
        cube: the new one.
    """
    data = prepare(_MODEL, history, earlier)
    known = data.succeeded
    if np.unique(known.Y[:, 0]).size < _LEAST:
        return None
    model = data.model
    assert isinstance(model, GaussianProcess)
    (X, y), (noise,) = data.objectives[0], data.stds
    order = np.argsort(known.merit, kind="stable")
    # What the new search cannot choose is as the best evaluation had it.
    place = Place(tuple(columns), X[order[0]])
    outcome = Forecaster(model.fit(X, y, noise), place, cube)
    if outcome.is_flat:
        return None
    merit = outcome
    if known.failed.size or not known.feasible.all():
        bad = np.where(known.feasible, y, y.max())
        points = np.concatenate([X, known.failed])
        worst = np.concatenate([bad, np.full(len(known.failed), y.max())])
        merit = Forecaster(model.fit(points, worst), place, cube)
    best = np.full((min(5, len(order)), cube.dim), 0.5)
    for column, new in enumerate(columns):
        if new >= 0:
            best[:, new] = X[order[: len(best)], column]
    return Lesson(outcome, merit, cube.snap(best))


def first_point(
    lessons: Sequence[Lesson],
    place: int,
    history: History,
    cube: Cube,
    rng: np.random.Generator,
    taken: Set[bytes] = frozenset(),
) -> FloatArray | None:
    """Return a first point that a lesson holds best, apart from those known; None: the design's.

    Every other place, from the first on, belongs to the lessons, in turn; a lesson loses its place
    when it has ranked more pairs of outcomes wrong than right. So one that misleads costs one
    evaluation, and the others are as they would be without it.
    """
    if place % 2:
        return None
    turn = place // 2
    for lesson in [*lessons[turn % len(lessons) :], *lessons[: turn % len(lessons)]]:
        if _concordance(lesson, history) >= 0:
            others = np.concatenate([history.X, history.without_outcome])
            return argmax(_held_best(lesson.merit, others), cube, rng, lesson.best, taken)
    return None


def _concordance(lesson: Lesson, history: History) -> int:
    """Return how many pairs of outcomes a lesson would have ranked right, less those wrong."""
    if not len(history.X):
        return 0
    forecast, _ = lesson.outcome(history.X)
    right = np.sign(np.subtract.outer(forecast, forecast)) * np.sign(
        np.subtract.outer(history.Y[:, 0], history.Y[:, 0])
    )
    return int(right.sum()) // 2


def _held_best(merit: Forecaster, others: FloatArray) -> Criterion:
    """Return what is high where a forecast is low, and no other first point is."""

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        values, gradients = merit(X)
        away = X[:, None] - others
        reach = _APART**2 * X.shape[1]
        hills = _HILL * np.exp(-0.5 * np.square(away).sum(axis=2) / reach)
        slope = np.einsum("mk,mkd->md", hills, away) / reach
        return -values - hills.sum(axis=1), lambda: slope - gradients

    return evaluate
