"""Which outcomes an optimiser learns its recalibration from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from calibrant import checks
from calibrant.gaussian import FloatArray
from calibrant.models.protocol import (
    FittedModel,
    KnowsLeaveOneOut,
    KnowsOneStepAhead,
    Model,
    TakesTurns,
)
from calibrant.outcomes import Outcomes, k_fold, leave_one_out, time_series


class Splits(StrEnum):
    """Whose forecast scores an outcome."""

    ONLINE = "online"  # the one made before it was evaluated
    LEAVE_ONE_OUT = "leave-one-out"  # the model's without it
    TIME_SERIES = "time-series"  # the model's from the earlier ones


@dataclass(frozen=True)
class CalibrationSet:
    """A way to score the outcomes so far (the paper's CREATESPLITS).

    Args:
        splits: "leave-one-out", "time-series" or "online".
        refit: fit the model anew for each split; by default hyper-parameters stay, and a Gaussian
            process has all scores in closed form.
        symmetric: count each score with both signs, so that spread and tails are learned but no
            shift. Worth a thought for online scores: points are chosen for being forecast too
            low, and a shift learned from them would be applied to all others.
        in_doubt: of leave-one-out scores in closed form, count only those of outcomes whose std
            without themselves is at least this share of the largest. The cluster that a search
            leaves around its best point is forecast well, and says nothing about other places.
        folds: a model without leave-one-out scores in closed form is fitted again for each split;
            instead of n times, so often, each time without that share of the outcomes.
        first: size of the first training set of a time series; a model fitted to a single outcome
            has no idea of spread.
    """

    splits: Splits | str = Splits.LEAVE_ONE_OUT
    refit: bool = False
    symmetric: bool = False
    in_doubt: float = 0.3
    folds: int = 10
    first: int = 2

    def __post_init__(self) -> None:
        splits = checks.choice("calibration_set", Splits, self.splits)
        object.__setattr__(self, "splits", splits)
        if not 0.0 <= self.in_doubt <= 1.0:
            raise ValueError(f"`0 <= in_doubt <= 1` must hold, but got in_doubt={self.in_doubt}.")
        checks.at_least("folds", self.folds, 2)
        checks.at_least("first", self.first, 1)

    def outcomes(
        self, model: Model, fitted: FittedModel, X: FloatArray, y: FloatArray, online: Outcomes
    ) -> Outcomes:
        """Return the scores to learn from.

        Args:
            model: to fit again where that is needed.
            fitted: the model fitted to all of X and y.
            X: inputs so far, (n, d).
            y: outcomes so far, (n,).
            online: scores of outcomes under the forecasts made before them.
        """
        scores = self._scores(model, fitted, X, y, online)
        return Outcomes(np.concatenate([scores, -scores]) if self.symmetric else scores)

    def _scores(
        self, model: Model, fitted: FittedModel, X: FloatArray, y: FloatArray, online: Outcomes
    ) -> FloatArray:
        if self.splits is Splits.ONLINE:
            return online.scores
        if y.size < 2 or (self.splits is Splits.TIME_SERIES and y.size <= self.first):
            return np.empty(0)
        if isinstance(fitted, TakesTurns):  # with an outcome less it would be another's turn
            model = fitted.at_turn
        if self.splits is Splits.LEAVE_ONE_OUT:
            if isinstance(fitted, KnowsLeaveOneOut) and not self.refit:
                scores, stds = fitted.leave_one_out()
                return np.asarray(scores[stds >= self.in_doubt * stds.max(initial=0.0)])
            if self.refit or y.size <= self.folds:
                return leave_one_out(model, X, y, refit=True).scores
            return k_fold(model, X, y, self.folds, np.random.default_rng(y.size)).scores
        if isinstance(fitted, KnowsOneStepAhead) and not self.refit:
            return fitted.one_step_ahead_scores()[self.first :]
        return time_series(model, X, y, first=self.first, refit=True).scores
