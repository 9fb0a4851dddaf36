"""Widths by localised online conformal prediction (LOCBO).

Kim, Zecchin, Park, Kang and Simeone, "Robust Bayesian optimization via localized online conformal
prediction" (2024, arXiv 2411.17387): a Gaussian process forecasts each outcome with a set that
should miss a share α of them. Where sets miss more often, the level is lowered, everywhere a little
and near the missed point more:

    α(x) = c + local · Σ_s rate_s · (α − missed_s) · k(x_s, x)
    c    = α + Σ_s rate_s · (α − missed_s)

with k(x, x') = exp(−|x − x'|²/lengthscale²) and rate_s = rate·(s + 1)^−decay. Their code has the
constants used here. (Its regularisation, a factor of 0.99998 per step, is left out.)

Our reading differs in one thing. LOCBO gives the inside of a set a uniform density and then takes
the noise off again; here the forecast is the Gaussian whose set of level α is the calibrated one.
So the std is multiplied by q(α(x))/q(α), with q the normal quantile, and any acquisition can use
it. Sets are those one step ahead, with the hyper-parameters of now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from calibrant.core import validate
from calibrant.core.normal import density
from calibrant.core.typing import FloatArray
from calibrant.models.adjusted import Adjusted
from calibrant.models.gp import GaussianProcess
from calibrant.models.rotation import Rotation

_WIDEST = 3.4  # stds: what their code takes for a set of level 0
_DECAY = 0.05
_INITIAL = 5  # outcomes of the first points are not counted


@dataclass(frozen=True)
class LocallyConformal:
    """A process with widths by localised online conformal prediction (LOCBO).

    Args:
        model: the process, or several in rotation.
        level: α, the share of outcomes that sets may miss.
        rate: how much one outcome changes the level everywhere.
        local: how many times as much it changes the level at its own point.
        lengthscale: how far that reaches in two dimensions of the unit cube; it grows with √dim.
    """

    model: GaussianProcess | Rotation = field(default_factory=GaussianProcess)
    level: float = 0.2
    rate: float = 0.005
    local: float = 4.0
    lengthscale: float = 0.25

    def __post_init__(self) -> None:
        validate.coverage_level(self.level)
        validate.not_negative("rate", self.rate)
        validate.not_negative("local", self.local)
        validate.positive("lengthscale", self.lengthscale)

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives it."""
        return self.model.most_outcomes

    def with_labels(self, columns: tuple[int, ...]) -> LocallyConformal:
        """Return the model for inputs in which the given columns are labels."""
        return replace(self, model=self.model.with_labels(columns))

    def fit(self, X: ArrayLike, y: ArrayLike) -> Adjusted:
        """Return the process fitted to outcomes y at the rows of X, with its widths."""
        X, y = validate.training_data(X, y)
        fitted = self.model.fit(X, y)
        sizes = np.abs(fitted.one_step_ahead_scores()[_INITIAL:])
        return Adjusted(self, fitted, self.width(X[_INITIAL:], sizes))

    def width(
        self, X: FloatArray, sizes: FloatArray
    ) -> Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]:
        """Return by how much forecasts are wider, after outcomes with such |scores| at X."""
        reach = self.lengthscale * np.sqrt(X.shape[1] / 2.0)
        rates = self.rate * (np.arange(sizes.size) + 2.0) ** -_DECAY
        steps = np.zeros(sizes.size)  # rate_s · (α − missed_s)

        def levels(points: FloatArray) -> tuple[FloatArray, FloatArray]:
            away = points[:, None] - X
            near = np.exp(-np.square(away).sum(axis=2) / reach**2) * steps
            by_point = self.local * -2.0 / reach**2 * np.einsum("ms,msd->md", near, away)
            return self.level + steps.sum() + self.local * near.sum(axis=1), by_point

        for s, size in enumerate(sizes):  # the level at x_s when it was forecast
            quantile, _ = _quantile(levels(X[s : s + 1])[0])
            steps[s] = rates[s] * (self.level - float(size > quantile[0]))

        usual = float(-ndtri(0.5 * self.level))

        def width(points: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            level, by_point = levels(points)
            quantile, slope = _quantile(level)
            factor = (slope / usual)[:, None] * by_point
            return quantile / usual, lambda by_factor: by_factor[:, None] * factor

        return width


def _quantile(level: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the half-width of a set in stds, and its derivative by the level."""
    within = np.clip(level, 2e-16, 0.9)  # above 0.9, sets would shrink to a point
    quantile = -ndtri(0.5 * within)
    free = (level == within) & (quantile < _WIDEST)
    slope = np.where(free, -0.5 / density(np.minimum(quantile, _WIDEST)), 0.0)
    return np.minimum(quantile, _WIDEST), slope
