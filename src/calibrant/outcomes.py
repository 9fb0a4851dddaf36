"""Calibration sets: outcomes scored by forecasts that had not seen them (the paper's CREATESPLITS).

The sets differ only in where the forecasts come from:

=================  =======================================================  ==================
set                forecast of the i-th outcome                             fits
=================  =======================================================  ==================
online             the one made before it happened; recorded as it goes     none
time-series        by the model fitted to all earlier outcomes              N − first + 1
leave-one-out      by the model fitted to all other outcomes                N + 1
k-fold             by the model fitted to the other folds                   k
=================  =======================================================  ==================

Only the online set carries the guarantee of online recalibration. A fitted model that knows its
leave-one-out or one-step-ahead scores in closed form (a Gaussian process reads them off its
Cholesky factor) may offer ``leave_one_out()`` or ``one_step_ahead_scores()``; these are
used instead of refits, with the model's hyper-parameters as they are. (Hence the + 1: one fit to
see whether it does.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from calibrant import checks
from calibrant.forecast import Forecast
from calibrant.gaussian import SCORE_LIMIT, FloatArray
from calibrant.models.protocol import KnowsLeaveOneOut, KnowsOneStepAhead, Model
from calibrant.recalibrate import Recalibrator


@dataclass(frozen=True)
class Outcomes:
    """A log of normal scores; empty to start with, it is the online calibration set."""

    scores: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        scores = checks.frozen(checks.finite("scores", self.scores))
        if scores.ndim != 1:
            raise ValueError(f"`scores` must be 1-D, but got shape {scores.shape}.")
        object.__setattr__(self, "scores", scores)

    def __len__(self) -> int:
        return self.scores.size

    @property
    def pits(self) -> FloatArray:
        """The probability integral transforms Φ(score)."""
        return np.asarray(ndtr(self.scores))

    def record(self, forecast: Forecast, y: ArrayLike) -> Outcomes:
        """Return the log with the outcomes y of a forecast that was made before them."""
        scores = np.ravel(forecast.score(checks.one_outcome_each(forecast.batch, y)))
        within = np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT)
        return Outcomes(np.concatenate([self.scores, within]))

    def recalibrate(self, recalibrator: Recalibrator) -> Recalibrator:
        """Return the recalibrator after all outcomes of the log, in order."""
        return recalibrator.update_scores(self.scores)


def leave_one_out(model: Model, X: ArrayLike, y: ArrayLike, *, refit: bool = False) -> Outcomes:
    """Score each outcome by the model fitted to all the others.

    Args:
        model: what to fit.
        X: inputs, shape (n, d).
        y: outcomes, shape (n,).
        refit: fit n times even if the model knows a closed form.
    """
    X, y = checks.training_data(X, y, at_least=2)
    fitted = None if refit else model.fit(X, y)
    if isinstance(fitted, KnowsLeaveOneOut):
        return Outcomes(fitted.leave_one_out()[0])
    return _score_splits(model, X, y, _folds(np.arange(y.size), y.size))


def k_fold(model: Model, X: ArrayLike, y: ArrayLike, k: int, rng: np.random.Generator) -> Outcomes:
    """Score each outcome by the model fitted to the other of ``k`` random folds."""
    X, y = checks.training_data(X, y, at_least=2)
    if not 2 <= k <= y.size:
        raise ValueError(f"`2 <= k <= n` must hold, but got k={k} for n={y.size} outcomes.")
    return _score_splits(model, X, y, _folds(rng.permutation(y.size), k))


def time_series(
    model: Model, X: ArrayLike, y: ArrayLike, *, first: int = 2, refit: bool = False
) -> Outcomes:
    """Score each outcome by the model fitted to all the earlier ones.

    Args:
        model: what to fit.
        X: inputs in the order of time, shape (n, d).
        y: outcomes, shape (n,).
        first: size of the first training set, so that n − first outcomes are scored: the paper's
            "N − k splits" for k = first.
        refit: fit n − first times even if the model knows a closed form.
    """
    X, y = checks.training_data(X, y, at_least=2)
    if not 1 <= first < y.size:
        raise ValueError(f"`1 <= first < n` must hold, but got first={first} for n={y.size}.")
    fitted = None if refit else model.fit(X, y)
    if isinstance(fitted, KnowsOneStepAhead):
        return Outcomes(fitted.one_step_ahead_scores()[first:])
    times = np.arange(y.size)
    return _score_splits(model, X, y, ((times[:t], times[t : t + 1]) for t in times[first:]))


Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def _folds(order: NDArray[np.intp], k: int) -> Iterator[Split]:
    for test in np.array_split(order, k):
        yield np.setdiff1d(order, test), test


def _score_splits(model: Model, X: FloatArray, y: FloatArray, splits: Iterator[Split]) -> Outcomes:
    scores: dict[int, float] = {}
    for train, test in splits:
        forecast = model.fit(X[train], y[train]).predict(X[test])
        scores.update(zip(test.tolist(), np.ravel(forecast.score(y[test])), strict=True))
    return Outcomes(np.array([scores[i] for i in sorted(scores)]))
