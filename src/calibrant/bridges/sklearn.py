"""scikit-learn regressors as forecasting models. Needs scikit-learn.

=====================  =======================================================================
GaussianRegressor      any regressor with ``predict(X, return_std=True)``: Gaussian processes,
                       Bayesian ridge
Forest                 random forests and extra trees: quantiles of the outcomes in the leaves
QuantileRegressors     one regressor per level, such as :func:`boosted_quantiles`
=====================  =======================================================================

They can forecast streams, and they can model a search: ``CalibratedSampler(model=Forest())``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import mapped
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs, fit_map
from calibrant.forecasts.quantiles import Quantiles

# The smallest std, as a share of the outcomes' std: complete certainty can only be rounding.
_LEAST_STD = 1e-6


@dataclass(frozen=True)
class GaussianRegressor:
    """A regressor with ``predict(X, return_std=True)``, such as BayesianRidge: Normal forecasts.

    Args:
        regressor: the scikit-learn estimator; ``fit`` clones it and leaves it unchanged. One that
            is already fitted can ``predict`` at once.
        outputs: the output map whose units it is fitted in, as for
            :class:`~calibrant.models.gp.GaussianProcess`; a kernel with a fixed variance needs
            outcomes of matching size.
    """

    regressor: Any
    outputs: Outputs | MonotoneMap | str = Outputs.STANDARDISE

    def __post_init__(self) -> None:
        arguments = inspect.signature(self.regressor.predict).parameters
        passes_on = any(a.kind is a.VAR_KEYWORD for a in arguments.values())  # such as a pipeline
        if "return_std" not in arguments and not passes_on:
            raise TypeError(
                f"{type(self.regressor).__name__}.predict has no `return_std`; for regressors of "
                "single quantiles use QuantileRegressors, for forests Forest."
            )
        if not isinstance(self.outputs, MonotoneMap):
            outputs = validate.choice("outputs", Outputs, self.outputs)
            if outputs is Outputs.TANH:
                raise ValueError(
                    '`outputs="tanh"` is fitted together with a GaussianProcess of calibrant; '
                    "a scikit-learn regressor needs another output map."
                )
            object.__setattr__(self, "outputs", outputs)

    def fit(self, X: FloatArray, y: FloatArray) -> GaussianRegressor:
        """Return a fitted copy."""
        X, y = validate.training_data(X, y)
        outputs = fit_map(self.outputs, y)
        fitted = clone(self.regressor).fit(X, outputs(y))
        kind = FittedProcess if _is_process(fitted) else GaussianRegressor
        return kind(fitted, outputs)

    def predict(self, X: FloatArray) -> Forecast:
        """Forecast the outcomes at the rows of X."""
        mean, std = self._mean_and_std(X)
        for name, part in (("mean", mean), ("std", std)):
            _one_each(self.regressor, name, part, len(X))
        if isinstance(self.outputs, MonotoneMap):
            return mapped(Normal(mean, np.maximum(std, _LEAST_STD)), self.outputs)
        # A regressor that came fitted was fitted to raw outcomes, which may have any size.
        return Normal(mean, np.maximum(std, np.finfo(float).tiny))

    def _mean_and_std(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, std = self.regressor.predict(X, return_std=True)
        # A forecast of outcomes includes the noise of a GaussianProcessRegressor (its ``alpha``),
        # which scikit-learn leaves out of the std.
        return mean, np.hypot(std, _noise(self.regressor)) if _is_process(self.regressor) else std


@dataclass(frozen=True)
class FittedProcess(GaussianRegressor):
    """A fitted GaussianProcessRegressor, which has leave-one-out scores in closed form."""

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome given all others, keeping hyper-parameters."""
        process = self.regressor
        inverse = solve_triangular(process.L_, np.eye(process.L_.shape[0]), lower=True)
        stds = 1.0 / np.sqrt(np.einsum("ji,ji->i", inverse, inverse))
        return np.ravel(process.alpha_) * stds, stds * _own_unit(process)


def _is_process(regressor: Any) -> bool:
    """Whether a regressor is a fitted GaussianProcessRegressor."""
    return hasattr(regressor, "L_")


def _own_unit(process: Any) -> float:
    """Return the std by which a process itself divides outcomes, with ``normalize_y``."""
    return float(np.ravel(process._y_train_std)[0])


def _noise(process: Any) -> float:
    """Return the noise std that a process was given as ``alpha``."""
    return float(np.sqrt(np.mean(process.alpha))) * _own_unit(process)


@dataclass(frozen=True)
class QuantileRegressors:
    """One regressor per level, such as gradient boosting with the quantile loss.

    Regressors fitted level by level may cross. Crossing quantiles are sorted, which never increases
    their pinball loss (Chernozhukov et al. 2010). Where all levels agree, they are spread out by a
    millionth of the outcomes' std.

    Args:
        regressors: level → scikit-learn estimator of that quantile, at least two.
        size: the number by which outcomes were divided before the fit (state).
        unit: the std of the outcomes after that (state).
    """

    regressors: Mapping[float, Any]
    size: float = 1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        if len(self.regressors) < 2:
            raise ValueError("At least 2 levels are needed to make a distribution.")
        validate.levels_grid(sorted(self.regressors))

    def fit(self, X: FloatArray, y: FloatArray) -> QuantileRegressors:
        """Return a fitted copy."""
        X, y = validate.training_data(X, y)
        size = _size(y)
        fitted = {p: clone(r).fit(X, y / size) for p, r in self.regressors.items()}
        return QuantileRegressors(fitted, size, _unit(y / size))

    def predict(self, X: FloatArray) -> Quantiles:
        """Forecast the outcomes at the rows of X."""
        levels = sorted(self.regressors)
        columns = [
            _one_each(self.regressors[p], f"{p:g}-quantile", self.regressors[p].predict(X), len(X))
            for p in levels
        ]
        values = np.sort(np.stack(columns, axis=-1), axis=-1)
        together = (values[:, -1:] - values[:, :1]) < _LEAST_STD * self.unit
        spread = np.where(together, _LEAST_STD * self.unit, 0.0) * ndtri(levels)
        return Quantiles(levels, self.size * (values + spread))


def boosted_quantiles(
    levels: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9), **settings: Any
) -> QuantileRegressors:
    """Return gradient boosting for the quantiles at some levels, sized for tens of outcomes.

    Args:
        levels: the levels of the quantiles.
        settings: of scikit-learn's GradientBoostingRegressor; by default 20 trees, rate 0.25.
    """
    chosen = {"n_estimators": 20, "learning_rate": 0.25, "random_state": 0, **settings}
    return QuantileRegressors(
        {p: GradientBoostingRegressor(loss="quantile", alpha=p, **chosen) for p in levels}
    )


def _default_forest() -> RandomForestRegressor:
    # Leaves of at least three, and half of the inputs per split: trees differ, so spread is wider.
    return RandomForestRegressor(100, min_samples_leaf=3, max_features=0.5, random_state=0)


@dataclass(frozen=True)
class Forest:
    """A quantile regression forest (Meinshausen 2006): quantiles of the outcomes in its leaves.

    Each tree spreads its vote evenly over the outcomes in the leaf that a point falls into;
    together the votes form a distribution. A forest of bootstrap samples scores each outcome by the
    trees that have not seen it (out-of-bag), without further fits.

    Args:
        regressor: a RandomForestRegressor or ExtraTreesRegressor; ``fit`` clones it.
        least_spread: std of a Gaussian added to the quantiles, as a share of the outcomes' std,
            because equal outcomes in all leaves do not prove that there is no noise.
        most_outcomes: the most outcomes that a search gives it; each is compared with every other,
            tree by tree.
    """

    regressor: Any = field(default_factory=_default_forest)
    least_spread: float = 0.05
    most_outcomes: int = 2000

    def __post_init__(self) -> None:
        if not isinstance(self.regressor, RandomForestRegressor | ExtraTreesRegressor):
            raise TypeError(
                "`regressor` must be a RandomForestRegressor or an ExtraTreesRegressor, but got "
                f"{type(self.regressor).__name__}."
            )
        validate.positive("least_spread", self.least_spread)

    def fit(self, X: FloatArray, y: FloatArray) -> FittedForest:
        """Return a fitted copy."""
        X, y = validate.training_data(X, y)
        size = _size(y)
        v = y / size
        forest = clone(self.regressor).fit(X, v)
        kind = FittedBaggedForest if forest.bootstrap else FittedForest
        return kind(forest, forest.apply(X), v, self.least_spread * _unit(v), size)


_LEVELS = np.arange(1, 20) / 20
# Leaves hold nothing better than the best outcome, but a search must be able to expect it: below
# 5 % and above 95 % the tails are those of a Gaussian with the spread of the whole distribution.
_TAIL = 3.5  # the normal score at which such a tail is tabulated
_WITH_TAILS = np.array([ndtr(-_TAIL), *_LEVELS, ndtr(_TAIL)])


@dataclass(frozen=True)
class FittedForest:
    """A fitted forest, and the leaves that its outcomes fall into."""

    regressor: Any
    leaves: np.ndarray  # (n, trees)
    v: FloatArray  # (n,), outcomes divided by their size
    spread: float  # of v
    size: float

    def predict(self, X: FloatArray) -> Quantiles:
        """Forecast the outcomes at the rows of X."""
        leaves = self.regressor.apply(X)
        return self._quantiles(self._votes(leaves, np.ones(leaves.shape, dtype=bool)))

    def _votes(
        self, leaves: np.ndarray, trees: np.ndarray, outcomes: np.ndarray | bool = True
    ) -> FloatArray:
        """Return the weight of each outcome for points in some leaves, (m, n).

        Args:
            leaves: the leaf of each point in each tree, (m, trees).
            trees: which trees vote on a point, (m, trees).
            outcomes: which outcomes they may vote for, (m, n).
        """
        votes = np.zeros((leaves.shape[0], self.v.size))
        for tree in range(leaves.shape[1]):
            chosen = (leaves[:, tree, None] == self.leaves[:, tree]) & trees[:, tree, None]
            chosen &= outcomes
            votes += chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)
        total = votes.sum(axis=1, keepdims=True)
        # If no leaf holds another outcome, all outcomes are equally good forecasts.
        return np.where(total > 0.0, votes / np.where(total > 0.0, total, 1.0), 1.0 / self.v.size)

    def _quantiles(self, votes: FloatArray) -> Quantiles:
        order = np.argsort(self.v)
        v, votes = self.v[order], votes[:, order]
        middles = np.cumsum(votes, axis=1) - 0.5 * votes  # the level of each outcome
        values = [
            np.interp(_LEVELS, middle[vote > 0.0], v[vote > 0.0])
            for middle, vote in zip(middles, votes, strict=True)
        ]
        table = np.array(values).reshape(-1, _LEVELS.size) + self.spread * ndtri(_LEVELS)
        low, high = table[:, :1], table[:, -1:]
        end = float(ndtri(_LEVELS[-1]))
        tail = (high - low) / (2.0 * end) * (_TAIL - end)
        return Quantiles(_WITH_TAILS, self.size * np.hstack([low - tail, table, high + tail]))


@dataclass(frozen=True)
class FittedBaggedForest(FittedForest):
    """A forest of bootstrap samples, in which each tree has out-of-bag outcomes."""

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome under the trees that have not seen it.

        An outcome that all trees have seen, which happens in small forests, is not scored.
        """
        unseen = np.ones(self.leaves.shape, dtype=bool)
        for tree, rows in enumerate(self.regressor.estimators_samples_):
            unseen[rows, tree] = False
        scored = unseen.any(axis=1)
        others = ~np.eye(self.v.size, dtype=bool)[scored]
        forecast = self._quantiles(self._votes(self.leaves[scored], unseen[scored], others))
        return forecast.score(self.size * self.v[scored]), forecast.std() / self.size


def _size(y: FloatArray) -> float:
    """Return a divisor of outcomes, so that their squares neither overflow nor underflow."""
    return float(np.abs(y).max()) or 1.0


def _unit(v: FloatArray) -> float:
    """Return the std of outcomes that have been divided by their size."""
    return float(np.std(v)) or _LEAST_STD


def _one_each(regressor: Any, name: str, values: Any, count: int) -> FloatArray:
    """Return the output of a regressor, or raise if it is not one finite number per point."""
    found = np.asarray(values, dtype=float)
    if found.shape != (count,):
        raise ValueError(
            f"{type(regressor).__name__} must forecast one {name} per point, of shape ({count},), "
            f"but got shape {found.shape}; fit it to 1-D outcomes."
        )
    if not np.all(np.isfinite(found)):
        raise ValueError(
            f"{type(regressor).__name__} must forecast a finite {name}, but point "
            f"{int(np.flatnonzero(~np.isfinite(found))[0])} has {found[~np.isfinite(found)][0]}."
        )
    return found
