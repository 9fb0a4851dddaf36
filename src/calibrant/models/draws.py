"""What a Gaussian process would believe if it knew the function at some points: a belief per draw.

The values are drawn jointly from the process itself. The beliefs then share inputs, factor and std,
and differ in their means alone, so that dozens of them cost little more than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.fitted_gp import FittedGP, factor

# Of the signal's variance: as exact as a factor can be made of points that lie close together. More
# would hide how little the best points of a long search differ.
_EXACT = 1e-10


class Posteriors(NamedTuple):
    """Gaussian posteriors at m points, one per draw: k means and the std that they share."""

    means: FloatArray  # (k, m)
    std: FloatArray  # (m,)
    # (∂loss/∂means (k, m), ∂loss/∂std (m,)) -> ∂loss/∂x, (m, d)
    pullback: Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Draws:
    """The beliefs after each of k draws of the function at some points.

    Args:
        values: the draws, (k, points), in the model's units.
        fitted: the process that knows one of them.
        alphas: the weights K⁻¹v of each, (k, outcomes and points).
    """

    values: FloatArray
    fitted: FittedGP
    alphas: FloatArray

    @classmethod
    def of(cls, process: FittedGP, X: FloatArray, seed_scores: FloatArray) -> Draws:
        """Return the beliefs after joint draws at the rows of X.

        Args:
            process: what to draw from.
            X: where, (points, d).
            seed_scores: standard normal, (k, points); one draw is made of each row.
        """
        signal = process.signal_variance
        mean, covariance = process.joint(X)
        values = mean + seed_scores @ factor(covariance, signal).T
        fitted = process.appended(X, values[0], np.full(X.shape[0], _EXACT * signal))
        known = np.broadcast_to(process.v, (values.shape[0], process.v.size))
        outcomes = np.concatenate([known, values], axis=1)
        return cls(values, fitted, outcomes @ fitted.W.T @ fitted.W)

    def posteriors(self, X: FloatArray) -> Posteriors:
        """Return the posteriors of the function at the rows of X, in the model's units."""
        k, std, to_inputs = self.fitted.covariances(X)
        return Posteriors(
            self.alphas @ k.T,
            std,
            lambda by_means, by_std: to_inputs(by_means.T @ self.alphas, by_std),
        )
