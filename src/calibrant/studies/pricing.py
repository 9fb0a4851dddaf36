"""What the next trials of a study are expected to cost, for a sampler with a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from calibrant.acquisition.base import Criterion
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.search.costs import ENOUGH, OVERSHOOT, Prices
from calibrant.studies.archive import Archive
from calibrant.studies.budget import Budget
from calibrant.studies.space import Space

_ASKED = 128  # settings that a cost function is asked about, to learn it over the whole space


class Pricing:
    """Keeps the model of prices between suggestions; it can be dropped at any time."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._space: Mapping[str, BaseDistribution] | None = None
        self._prices: Prices | None = None

    def update(self, archive: Archive, space: Space) -> None:
        """Learn what has been paid since last time."""
        if self._space != space.distributions:
            self._space, self._prices = space.distributions, None
        if self.budget.cost is not None:
            if self._prices is None:  # a function does not change
                X = space.cube.spread(_ASKED, np.random.default_rng(0))
                settings = (_setting(space, x) for x in X)
                prices = np.array([self.budget.of(setting) for setting in settings])
                self._prices = Prices.learned(X, prices, space.cube)
            return
        X, prices = archive.priced(space, self.budget.is_time)
        if prices.size >= ENOUGH:
            self._prices = Prices.learned(X, prices, space.cube, self._prices)

    def frugality(self, study: Study, trial: FrozenTrial) -> Criterion | None:
        """Return what speaks against points that cost more; None before anything is known."""
        if self._prices is None:
            return None
        left = self.budget.left(study, but=trial.number)
        return self._prices.frugality(self.weight(left), left)

    def weight(self, left: float) -> float:
        """Return how much prices count: improvement is divided by their power."""
        return 1.0  # to the end; less towards it was no better (benchmarks/problems)

    def expected(self, x: FloatArray, space: Space) -> float | None:
        """Return what a point is expected to cost, if that is known."""
        if self.budget.cost is not None:
            return self.budget.of(_setting(space, x))
        return None if self._prices is None else float(self._prices.expected(x[None])[0])

    def affordable(
        self, x: FloatArray, space: Space, study: Study, trial: FrozenTrial, cube: Cube
    ) -> FloatArray:
        """Return a first point, or the closest one that does not cost more than is left."""
        most = (1.0 + OVERSHOOT) * self.budget.left(study, but=trial.number)
        if self._prices is None or (self.expected(x, space) or 0.0) <= most:
            return x
        others = cube.spread(_ASKED, np.random.default_rng(trial.number))
        prices = np.array([self.expected(one, space) for one in others])
        if not (prices <= most).any():
            return x  # it will be refused: there is nothing to be had for what is left
        away = ((others - x) ** 2).sum(axis=1)
        return np.asarray(others[np.argmin(np.where(prices <= most, away, np.inf))])


def _setting(space: Space, x: FloatArray) -> dict[str, Any]:
    """Return a point as an objective, and a function of costs, sees it."""
    return space.structure.decoded(space.external(space.internal(x)))
