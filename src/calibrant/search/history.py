"""All that is known when a point is chosen, and which part of it a model can bear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.core.typing import FloatArray
from calibrant.recalibration.score_log import ScoreLog

# A choice of outcomes is made anew after so many: in between, a model can go on from its last fit.
_BLOCK = 100

_PENALTY = 1000.0  # times as far away as the others are apart
_DIFFERENT = 4  # values that the others must have at least
_ROUNDING = 1e-9  # of their size: what is closer counts as equal


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
    def merit(self) -> FloatArray:
        """What is lower the better: violation of constraints, then mean rank of objectives."""
        violation = np.clip(np.nan_to_num(self.constraints), 0.0, 1e9).sum(axis=1)
        ranks = np.argsort(np.argsort(self.Y, axis=0), axis=0).mean(axis=1)
        worse = ranks.size * (1.0 + np.minimum(violation, 1e9))
        return np.asarray(np.where(violation > 0.0, worse, 0.0) + ranks)

    @property
    def stagnation(self) -> int:
        """How many outcomes that were forecast came after the best one of a single objective.

        Others, of a design or of another search, are not the model's doing.
        """
        feasible = np.flatnonzero(self.feasible)
        if not feasible.size:
            return 0
        best = feasible[self.Y[feasible, 0].argmin()]
        return int(self.was_forecast[best + 1 :].sum())

    @property
    def penalties(self) -> NDArray[np.bool_]:
        """Which outcomes of a single objective stand for "bad", and not for themselves.

        They are the larger ones, half of all at most, and a thousand times as far from the others
        as these are apart: no model could tell the others apart beside them. Others there must be
        some, and different ones: equal scores lie close together by chance.
        """
        none = np.zeros(self.Y.shape[0], dtype=bool)
        if self.Y.shape[1] > 1 or self.Y.shape[0] < _DIFFERENT:
            return none
        y = np.sort(self.Y[:, 0] / 2.0)  # halves, as the difference of the largest two is none
        apart, gap = y[:-1] - y[0], np.diff(y)
        half = np.arange(1, y.size) >= 0.5 * y.size
        distinct = gap > _ROUNDING * np.maximum(np.abs(y[:-1]), np.abs(y[1:]))
        different = np.concatenate([[1], 1 + np.cumsum(distinct[:-1])]) >= _DIFFERENT
        jumps = np.flatnonzero(half & different & (gap / _PENALTY > apart))
        if not jumps.size:
            return none
        bad = np.asarray(self.Y[:, 0] / 2.0 > y[jumps[0]])
        all_that_works = self.feasible.any() and not self.feasible[~bad].any()
        return none if all_that_works else bad

    def without_penalties(self) -> History:
        """Return the history with penalties as failures."""
        bad = self.penalties
        if not bad.any():
            return self
        failed = np.concatenate([self.failed, self.X[bad]])
        return replace(self._rows(np.flatnonzero(~bad)), failed=failed)

    def part(self, most: int) -> History:
        """Return the history as a model sees it that can bear no more than ``most`` outcomes.

        It keeps the best, which is where the search goes on; the latest, which a model has learned
        least from; and of all others an even choice from good to bad, for an idea of the whole.
        """
        count = self.Y.shape[0]
        if count > most:
            settled = _settled(count, most)
            chosen = self._rows(np.arange(settled))._choice(most - _block(most))
            rows = np.concatenate([chosen, np.arange(settled, count)])
            part = self._rows(rows)
        else:
            part = self
        return replace(
            part,
            failed=self.failed[-most:],
            pruned=self.pruned[-most:],
            extrapolated=self.extrapolated[-most:],
        )

    def _rows(self, rows: NDArray[np.intp]) -> History:
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            constraints=self.constraints[rows],
            was_forecast=self.was_forecast[rows],
        )

    def _choice(self, room: int) -> NDArray[np.intp]:
        """Return which outcomes to keep, at most so many, in the order in which they came."""
        kept = np.zeros(self.Y.shape[0], dtype=bool)
        # What a constraint was last, where not all evaluations say: its model needs some of them.
        known = np.isfinite(self.constraints)
        for column in known.T[~known.all(axis=0)]:
            kept[np.flatnonzero(column)[-max(1, room // 10) :]] = True
        order = np.argsort(self.merit, kind="stable")
        if self.Y.shape[1] > 1:  # the front of several objectives comes first, with its ends
            front = _front(self.Y) & self.feasible
            order = np.concatenate([order[front[order]], order[~front[order]]])
            kept[self.Y.argmin(axis=0)] = True
        kept[order[: max(0, room // 2 - int(kept.sum()))]] = True
        kept[order[kept[order]][room:]] = False  # of many constraints, not all there is
        others = order[~kept[order]]
        left = room - int(kept.sum())
        kept[others[np.linspace(0, others.size - 1, left).round().astype(np.intp)]] = True
        return np.flatnonzero(kept)


def _block(most: int) -> int:
    return max(1, min(_BLOCK, most // 2))


def _settled(count: int, most: int) -> int:
    """Return of how many outcomes the choice is made; those after them are all kept."""
    return count - 1 - (count - 1 - most) % _block(most)


def _front(Y: FloatArray) -> NDArray[np.bool_]:
    """Return which outcomes no other is better than in all objectives."""
    front = np.zeros(Y.shape[0], dtype=bool)
    best: FloatArray = np.empty((0, Y.shape[1]))
    for row in np.lexsort(Y.T[::-1]):  # by the first objective: only what came before can dominate
        if not np.any(np.all(best <= Y[row], axis=1)):
            front[row] = True
            best = np.vstack([best, Y[row]])
    return front
