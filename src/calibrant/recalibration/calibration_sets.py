"""Calibration sets: outcomes scored by forecasts that had not seen them (the paper's CREATESPLITS).

The sets differ only in where the forecasts come from:

=================  =======================================================  ==================
set                forecast of the i-th outcome                             fits
=================  =======================================================  ==================
online             the one made before the outcome, recorded at that time   none
time-series        by the model fitted to all earlier outcomes              N − first + 1
leave-one-out      by the model fitted to all other outcomes                N + 1
k-fold             by the model fitted to the other folds                   k
=================  =======================================================  ==================

Only the online set carries the guarantee of online recalibration. Some fitted models have their
leave-one-out or one-step-ahead scores in closed form; a Gaussian process reads them off its
Cholesky factor. They offer ``leave_one_out()`` or ``one_step_ahead_scores()``, which replace the
refits and keep the model's hyper-parameters. (Hence the + 1 above: one fit to find out whether the
model offers them.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.models.protocol import (
    FittedModel,
    HasUnits,
    KnowsLeaveOneOut,
    KnowsOneStepAhead,
    Model,
    TakesTurns,
)
from calibrant.recalibration.score_log import ScoreLog


class Splits(StrEnum):
    """Which forecast an outcome is scored by."""

    ONLINE = "online"  # the one made before the outcome was known
    LEAVE_ONE_OUT = "leave-one-out"  # by the model without that outcome
    TIME_SERIES = "time-series"  # by the model of the earlier outcomes


@dataclass(frozen=True)
class CalibrationSet:
    """How the outcomes so far are scored, for a recalibrator to learn from them.

    An outcome is scored by a forecast that had not seen it (the paper's CREATESPLITS).

    Args:
        splits: "leave-one-out", "time-series" or "online".
        refit: fit the model again for each split. By default a model with closed-form scores, such
            as a Gaussian process, uses those and keeps its hyper-parameters.
        symmetric: disregard the signs of scores, so that spread and tails are learned but no
            shift. Consider it for online scores: a search chooses points that are forecast too low
            (the winner's curse), and a shift learned there would be applied everywhere.
        in_doubt: of closed-form leave-one-out scores, count only those whose leave-one-out std is
            at least this share of the largest. The points that a search clusters around its best
            one are forecast well, and say nothing about forecasts elsewhere.
        largest_error: closed-form leave-one-out errors count as no larger, together, than this many
            times the spread of the outcomes. A model whose errors are larger than those of a plain
            mean is wrong in its own mean: widening it further would only make a search wander.
        folds: a model without closed-form leave-one-out scores is fitted again this many times, to
            all folds but one, instead of n times.
        first: size of the first training set of a time series; a model of a single outcome cannot
            know the spread.
    """

    splits: Splits | str = Splits.LEAVE_ONE_OUT
    refit: bool = False
    symmetric: bool = False
    in_doubt: float = 0.3
    largest_error: float = np.inf
    folds: int = 10
    first: int = 2

    def __post_init__(self) -> None:
        splits = validate.choice("calibration_set", Splits, self.splits)
        object.__setattr__(self, "splits", splits)
        if not 0.0 <= self.in_doubt <= 1.0:
            raise ValueError(f"`0 <= in_doubt <= 1` must hold, but got in_doubt={self.in_doubt}.")
        if not self.largest_error > 0.0:
            raise ValueError(
                f"`largest_error > 0` must hold, but got largest_error={self.largest_error}."
            )
        validate.at_least("folds", self.folds, 2)
        validate.at_least("first", self.first, 1)

    def scores(
        self,
        model: Model,
        fitted: FittedModel,
        X: FloatArray,
        y: FloatArray,
        online: ScoreLog,
        noise: FloatArray | None = None,
    ) -> ScoreLog:
        """Return the log of scores to learn from.

        Args:
            model: fitted again where splits need it.
            fitted: the model fitted to all of X and y.
            X: inputs so far, (n, d).
            y: outcomes so far, (n,).
            online: scores of outcomes under the forecasts made before them.
            noise: stds of the noise of outcomes, (n,), for a model that takes them.
        """
        found = self._scores(model, fitted, X, y, online, noise)
        return ScoreLog(found, self.symmetric)

    def _scores(
        self,
        model: Model,
        fitted: FittedModel,
        X: FloatArray,
        y: FloatArray,
        online: ScoreLog,
        noise: FloatArray | None,
    ) -> FloatArray:
        if self.splits is Splits.ONLINE:
            return online.scores
        if y.size < 2 or (self.splits is Splits.TIME_SERIES and y.size <= self.first):
            return np.empty(0)
        if isinstance(fitted, TakesTurns):  # rotation depends on n: a split would pick another
            model = fitted.at_turn
        if self.splits is Splits.LEAVE_ONE_OUT:
            if isinstance(fitted, KnowsLeaveOneOut) and not self.refit:
                scores, stds = fitted.leave_one_out()
                unsure = stds >= self.in_doubt * stds.max(initial=0.0)
                return self._bounded(scores[unsure], stds[unsure], fitted, y)
            if self.refit or y.size <= self.folds:
                return leave_one_out(model, X, y, refit=True, noise=noise).scores
            rng = np.random.default_rng(y.size)
            return k_fold(model, X, y, self.folds, rng, noise).scores
        if isinstance(fitted, KnowsOneStepAhead) and not self.refit:
            return fitted.one_step_ahead_scores()[self.first :]
        return time_series(model, X, y, first=self.first, refit=True, noise=noise).scores

    def _bounded(
        self, scores: FloatArray, stds: FloatArray, fitted: FittedModel, y: FloatArray
    ) -> FloatArray:
        """Return scores with errors as large as ``largest_error`` allows."""
        if not isinstance(fitted, HasUnits) or not np.isfinite(self.largest_error):
            return scores
        error = np.sqrt(np.mean((scores * stds) ** 2))
        allowed = self.largest_error * float(np.std(fitted.in_model_units(y)))
        return scores * (allowed / error) if error > allowed > 0.0 else scores


def leave_one_out(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    refit: bool = False,
    noise: FloatArray | None = None,
) -> ScoreLog:
    """Score each outcome by the model fitted to all the others.

    Args:
        model: the model to fit.
        X: inputs, shape (n, d).
        y: outcomes, shape (n,).
        refit: fit n times even if the model has a closed form.
        noise: stds of the noise of outcomes, (n,), for a model that takes them.
    """
    X, y = validate.training_data(X, y, at_least=2)
    fitted = None if refit else model.fit(X, y, **_told(noise))
    if isinstance(fitted, KnowsLeaveOneOut):
        return ScoreLog(fitted.leave_one_out()[0])
    return _score_splits(model, X, y, _folds(np.arange(y.size), y.size), noise)


def k_fold(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    k: int,
    rng: np.random.Generator,
    noise: FloatArray | None = None,
) -> ScoreLog:
    """Score each outcome by the model fitted to the other folds of ``k`` random ones."""
    X, y = validate.training_data(X, y, at_least=2)
    if not 2 <= k <= y.size:
        raise ValueError(f"`2 <= k <= n` must hold, but got k={k} for n={y.size} outcomes.")
    return _score_splits(model, X, y, _folds(rng.permutation(y.size), k), noise)


def time_series(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    first: int = 2,
    refit: bool = False,
    noise: FloatArray | None = None,
) -> ScoreLog:
    """Score each outcome by the model fitted to all the earlier ones.

    Args:
        model: the model to fit.
        X: inputs in the order of time, shape (n, d).
        y: outcomes, shape (n,).
        first: size of the first training set, so that n − first outcomes are scored: the paper's
            "N − k splits" with k = first.
        refit: fit n − first times even if the model has a closed form.
        noise: stds of the noise of outcomes, (n,), for a model that takes them.
    """
    X, y = validate.training_data(X, y, at_least=2)
    if not 1 <= first < y.size:
        raise ValueError(f"`1 <= first < n` must hold, but got first={first} for n={y.size}.")
    fitted = None if refit else model.fit(X, y, **_told(noise))
    if isinstance(fitted, KnowsOneStepAhead):
        return ScoreLog(fitted.one_step_ahead_scores()[first:])
    times = np.arange(y.size)
    splits = ((times[:t], times[t : t + 1]) for t in times[first:])
    return _score_splits(model, X, y, splits, noise)


Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def _folds(order: NDArray[np.intp], k: int) -> Iterator[Split]:
    for test in np.array_split(order, k):
        yield np.setdiff1d(order, test), test


def _score_splits(
    model: Model,
    X: FloatArray,
    y: FloatArray,
    splits: Iterator[Split],
    noise: FloatArray | None = None,
) -> ScoreLog:
    scores: dict[int, float] = {}
    for train, test in splits:
        fitted = model.fit(X[train], y[train], **_told(None if noise is None else noise[train]))
        forecast = fitted.predict(X[test])
        scores.update(zip(test.tolist(), np.ravel(forecast.score(y[test])), strict=True))
    return ScoreLog(np.array([scores[i] for i in sorted(scores)]))


def _told(noise: FloatArray | None) -> dict[str, FloatArray]:
    """Return what a model is fitted with beside outcomes: most take nothing else."""
    return {} if noise is None else {"noise": noise}
