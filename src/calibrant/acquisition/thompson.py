"""Thompson sampling: minimise one function drawn from the calibrated belief."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.acquisition.base import Acquisition, Belief, Criterion
from calibrant.core.cube import Cube, Design
from calibrant.core.typing import FloatArray
from calibrant.forecasts.residual import compose
from calibrant.models.protocol import GaussianBelief


@dataclass(frozen=True)
class Thompson(Acquisition):
    """Thompson sampling: minus one function drawn from the calibrated belief.

    A Gaussian belief is drawn once and jointly at ``candidates`` random points (by a Cholesky
    factor of their covariance), and the marginals of the draw are recalibrated. The function
    searched is the posterior mean given these values: a smooth path through them, with gradients.
    Any other model is drawn independently at each point, whenever the criterion is evaluated.

    Args:
        candidates: the number of points of the joint draw.
    """

    candidates: int = 256

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted, residual = belief.fitted, belief.residual
        if not isinstance(fitted, GaussianBelief):
            return lambda X: (-compose(fitted.predict(X), residual).sample(1, rng)[0], None)
        points = cube.design(Design.RANDOM, self.candidates, rng)
        mean, std, _ = fitted.posterior(points)
        draw = fitted.sample(points, rng.standard_normal(self.candidates))
        score = np.clip(residual.at_score((draw - mean) / std), -8.2, 8.2)
        drawn = fitted.condition(points, mean + std * score, std=0.0)

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = drawn.posterior(X)
            return -mean, lambda: pullback(np.full_like(mean, -1.0), np.zeros_like(std))

        return evaluate
