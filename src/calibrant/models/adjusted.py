"""The belief of a model that adjusts another one, and that is made anew after each outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import Mapped
from calibrant.forecasts.normal import Normal
from calibrant.models.protocol import GaussianBelief, Posterior

# points (m, d) -> factors on the std (m,), and a function ∂loss/∂factor (m,) -> ∂loss/∂x (m, d)
Width = Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]


class Adjusting(Protocol):
    """A model that adjusts the belief of another one."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Adjusted:
        """Return the belief after outcomes y at the rows of X, adjusted."""
        ...


@dataclass(frozen=True)
class Adjusted:
    """A Gaussian belief as its model adjusted it.

    It has no leave-one-out scores in closed form: the adjustment would differ without an outcome.

    Args:
        model: what adjusted it, and does so again when there are more outcomes.
        belief: the belief, where the adjustment is already in it.
        width: by how much forecasts are wider than the belief's at each point; None: not at all.
    """

    model: Adjusting
    belief: GaussianBelief
    width: Width | None = None

    def refit(self, X: ArrayLike, y: ArrayLike) -> Adjusted:
        """Return what the model makes of X and y."""
        return self.model.fit(X, y)

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        points = np.atleast_2d(np.asarray(X, dtype=float))
        forecast = self.belief.predict(points)
        return forecast if self.width is None else _wider(forecast, self.width(points)[0])

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the function, without noise, in the model's units."""
        posterior = self.belief.posterior(X)
        if self.width is None:
            return posterior
        mean, std, pullback = posterior
        factor, by_point = self.width(X)
        return Posterior(
            mean,
            factor * std,
            lambda by_mean, by_std: pullback(by_mean, factor * by_std) + by_point(std * by_std),
        )

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y)."""
        return self.belief.in_model_units(y)

    def means(self) -> FloatArray:
        """Return the posterior means at the training inputs, in the model's units."""
        return self.belief.means()

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> Adjusted:
        """Return the belief conditioned on ``values`` in the model's units, or on its own means."""
        return replace(self, belief=self.belief.condition(X, values, std=std))

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``."""
        draw = self.belief.sample(X, seed_scores)
        if self.width is None:
            return draw
        mean = self.belief.posterior(X).mean
        return np.asarray(mean + self.width(X)[0] * (draw - mean))


def _wider(forecast: Forecast, factor: FloatArray) -> Forecast:
    if isinstance(forecast, Mapped):
        return Mapped(_wider(forecast.forecast, factor), forecast.outputs)
    if isinstance(forecast, Normal):
        return Normal(forecast.mean(), factor * forecast.std())
    raise TypeError(f"A Gaussian belief cannot forecast {forecast!r}; is it one?")
