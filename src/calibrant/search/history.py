"""All that is known when a point is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.core import penalties
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.recalibration.score_log import ScoreLog

_ROUNDING = 1e-9  # of a coordinate, at the end of its range


@dataclass(frozen=True)
class History:
    """All that is known when a point is chosen: n outcomes, and points without one.

    Args:
        X: evaluated points, (n, d).
        Y: their outcomes, (n, objectives), to be minimised.
        constraints: their constraint values, (n, constraints); at most 0 is feasible, and ±inf
            modelled as the largest size seen. NaN: the evaluation did not say.
        online: for each objective the scores of outcomes under the forecasts made before them.
        was_forecast: which outcomes had a forecast, (n,).
        failed: points whose evaluation failed, (f, d).
        pruned: points whose evaluation was given up early, (q, d).
        extrapolated: for each, the outcome that it was heading for, and the std of that, (q, 2).
        pending: points being evaluated, (p, d).
        names: of the constraints.
        limits: for each constraint the scores of outcomes under the forecasts made before them.
        promises: probabilities that all constraints would be met, given before evaluations, and 1
            where they were or 0, (k, 2).
        stds: of the noise of each outcome, (n, objectives), NaN where it is not known; None where
            it is known of none.
    """

    X: FloatArray
    Y: FloatArray
    constraints: FloatArray
    online: tuple[ScoreLog, ...]
    was_forecast: NDArray[np.bool_]
    failed: FloatArray
    pruned: FloatArray
    extrapolated: FloatArray
    pending: FloatArray
    names: tuple[str, ...] = ()
    limits: tuple[ScoreLog, ...] = ()
    promises: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    stds: FloatArray | None = None

    @classmethod
    def empty(cls, dim: int, objectives: int = 1) -> History:
        """Return the history in which nothing has happened."""
        none = np.empty((0, dim))
        return cls(
            none,
            np.empty((0, objectives)),
            np.empty((0, 0)),
            (ScoreLog(),) * objectives,
            np.empty(0, dtype=bool),
            none,
            none,
            np.empty((0, 2)),
            none,
        )

    @property
    def without_outcome(self) -> FloatArray:
        """The points that have been or are being evaluated, and have no outcome."""
        return np.concatenate([self.failed, self.pruned, self.pending])

    @property
    def feasible(self) -> np.ndarray:
        """Which outcomes meet all constraints."""
        return np.asarray(((self.constraints <= 0.0) | np.isnan(self.constraints)).all(axis=1))

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which outcomes are of points within the ranges that parameters have now."""
        return np.asarray(((self.X >= -_ROUNDING) & (self.X <= 1.0 + _ROUNDING)).all(axis=1))

    @property
    def merit(self) -> FloatArray:
        """What is lower the better: violation of constraints, then mean rank of objectives."""
        violation = np.clip(np.nan_to_num(self.constraints), 0.0, 1e9).sum(axis=1)
        ranks = np.argsort(np.argsort(self.Y, axis=0), axis=0).mean(axis=1)
        worse = ranks.size * (1.0 + np.minimum(violation, 1e9))
        return np.asarray(np.where(violation > 0.0, worse, 0.0) + ranks)

    @property
    def stagnation(self) -> int:
        """How many outcomes since the best one, of a single objective, the model had suggested.

        Others, of an initial design or of another search, are not the model's doing; what is
        outside the ranges that parameters have now is out of its reach.
        """
        feasible = np.flatnonzero(self.feasible & self.inside)
        if not feasible.size:
            return 0
        best = feasible[self.Y[feasible, 0].argmin()]
        return int(self.was_forecast[best + 1 :].sum())

    @property
    def penalties(self) -> NDArray[np.bool_]:
        """Which outcomes of a single objective stand for "bad" (:mod:`calibrant.core.penalties`).

        None, where they are the only feasible ones.
        """
        if self.Y.shape[1] > 1:
            return np.zeros(self.Y.shape[0], dtype=bool)
        bad = penalties.far_apart(self.Y[:, 0])
        all_that_works = self.feasible.any() and not self.feasible[~bad].any()
        return np.zeros_like(bad) if all_that_works else bad

    def without_penalties(self) -> History:
        """Return the history with penalties as failures."""
        bad = self.penalties
        if not bad.any():
            return self
        failed = np.concatenate([self.failed, self.X[bad]])
        return replace(self.rows(np.flatnonzero(~bad)), failed=failed)

    @property
    def reported(self) -> list[int]:
        """The columns of constraints that any evaluation has reported."""
        return [int(i) for i in np.flatnonzero((~np.isnan(self.constraints)).any(axis=0))]

    def believed(self, limits: Mapping[int, Callable[[FloatArray], Forecast]]) -> History:
        """Return the history with the medians of constraints that an evaluation did not report.

        Args:
            limits: of some columns, what forecasts the constraint at points.
        """
        if not np.isnan(self.constraints).any():
            return self
        constraints = self.constraints.copy()
        for column, forecast in limits.items():
            unsaid = np.isnan(constraints[:, column])
            if unsaid.any():
                constraints[unsaid, column] = forecast(self.X[unsaid]).quantile(0.5)
        return replace(self, constraints=constraints)

    def rows(self, rows: NDArray[np.intp]) -> History:
        """Return the history with some of the outcomes only."""
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            constraints=self.constraints[rows],
            was_forecast=self.was_forecast[rows],
            stds=None if self.stds is None else self.stds[rows],
        )
