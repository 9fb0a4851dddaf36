"""All that is known when a point is chosen, and which part of it a model can bear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.gaussian import FloatArray
from calibrant.outcomes import Outcomes


@dataclass(frozen=True)
class History:
    """All that is known when a point is chosen: n outcomes, and points without one.

    Args:
        X: evaluated points, (n, d).
        Y: their outcomes, (n, objectives), to be minimised.
        constraints: their constraint values, (n, constraints); at most 0 is feasible. NaN: the
            evaluation did not say.
        online: for each objective the scores of outcomes under the forecasts made before them.
        failed: points whose evaluation gave nothing, (f, d).
        failed_at_least: for each, a value its outcome is not below; NaN: as bad as the worst.
        pending: points being evaluated, (p, d).
    """

    X: FloatArray
    Y: FloatArray
    constraints: FloatArray
    online: tuple[Outcomes, ...]
    failed: FloatArray
    failed_at_least: FloatArray
    pending: FloatArray

    @classmethod
    def empty(cls, dim: int, objectives: int = 1) -> History:
        """Return the history in which nothing has happened."""
        none = np.empty((0, dim))
        return cls(
            none,
            np.empty((0, objectives)),
            np.empty((0, 0)),
            (Outcomes(),) * objectives,
            none,
            np.empty(0),
            none,
        )

    @property
    def feasible(self) -> np.ndarray:
        """Which outcomes meet all constraints."""
        return np.asarray(((self.constraints <= 0.0) | np.isnan(self.constraints)).all(axis=1))

    @property
    def merit(self) -> FloatArray:
        """What is lower the better: violation of constraints, then mean rank of objectives."""
        violation = np.maximum(np.nan_to_num(self.constraints), 0.0).sum(axis=1)
        ranks = np.argsort(np.argsort(self.Y, axis=0), axis=0).mean(axis=1)
        worse = ranks.size * (1.0 + np.minimum(violation, 1e9))
        return np.asarray(np.where(violation > 0.0, worse, 0.0) + ranks)

    def part(self, most: int) -> History:
        """Return the history as a model sees it that can bear no more than ``most`` outcomes.

        It keeps the best, which is where the search goes on; the latest, which a model has learned
        least from; and of all others an even choice from good to bad, for an idea of the whole.
        """
        rows = kept(self.merit, most)
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            constraints=self.constraints[rows],
            failed=self.failed[-most:],
            failed_at_least=self.failed_at_least[-most:],
        )


# The choice is made anew after so many outcomes: in between, a model can go on from its last fit.
_BLOCK = 100


def kept(merit: FloatArray, most: int) -> NDArray[np.intp]:
    """Return which of n outcomes to keep, at most so many, in the order in which they came."""
    count = merit.size
    if count <= most:
        return np.arange(count)
    block = max(1, min(_BLOCK, most // 2))
    settled = count - 1 - (count - 1 - most) % block  # the choice is made of these
    room = most - block
    order = np.argsort(merit[:settled], kind="stable")
    best, others = order[: room // 2], order[room // 2 :]
    even = others[np.linspace(0, others.size - 1, room - room // 2).round().astype(np.intp)]
    return np.concatenate([np.sort(np.concatenate([best, even])), np.arange(settled, count)])
