"""scikit-learn regressors as forecasting models. Needs scikit-learn (``calibrant[sklearn]``)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from calibrant import checks
from calibrant.forecast import Normal
from calibrant.gaussian import FloatArray
from calibrant.quantiles import Quantiles


@dataclass(frozen=True)
class GaussianRegressor:
    """A regressor with ``predict(X, return_std=True)``, such as BayesianRidge: Normal forecasts.

    Args:
        regressor: the scikit-learn estimator; ``fit`` clones it and leaves it as it is. One that
            is fitted already can ``predict`` at once.
    """

    regressor: Any

    def __post_init__(self) -> None:
        if "return_std" not in inspect.signature(self.regressor.predict).parameters:
            raise TypeError(
                f"{type(self.regressor).__name__}.predict has no `return_std`; for regressors of "
                "single quantiles use QuantileRegressors."
            )

    def fit(self, X: FloatArray, y: FloatArray) -> GaussianRegressor:
        """Return a fitted copy."""
        return GaussianRegressor(clone(self.regressor).fit(X, y))

    def predict(self, X: FloatArray) -> Normal:
        """Forecast the outcomes at the rows of X."""
        mean, std = self.regressor.predict(X, return_std=True)
        return Normal(mean, std)


@dataclass(frozen=True)
class QuantileRegressors:
    """One regressor a level, such as gradient boosting with the quantile loss: a quantile table.

    Regressors fitted level by level may cross; crossing quantiles are sorted, which never
    increases their pinball loss.

    Args:
        regressors: level → scikit-learn estimator of that quantile, at least two.
    """

    regressors: Mapping[float, Any]

    def __post_init__(self) -> None:
        if len(self.regressors) < 2:
            raise ValueError("At least 2 levels are needed to make a distribution.")
        checks.levels_grid(sorted(self.regressors))

    def fit(self, X: FloatArray, y: FloatArray) -> QuantileRegressors:
        """Return a fitted copy."""
        return QuantileRegressors({p: clone(r).fit(X, y) for p, r in self.regressors.items()})

    def predict(self, X: FloatArray) -> Quantiles:
        """Forecast the outcomes at the rows of X."""
        levels = sorted(self.regressors)
        values = np.stack([self.regressors[p].predict(X) for p in levels], axis=-1)
        return Quantiles(levels, np.sort(values, axis=-1))
