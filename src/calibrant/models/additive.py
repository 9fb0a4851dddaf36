"""A kernel of effects of single inputs, beside one of all inputs together.

Most functions that people minimise are partly sums: each parameter has an effect of its own, and
some interact. With a few dozen outcomes in ten dimensions the effects can be told, the rest hardly.
How much of each there is, is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.gaussian import FloatArray
from calibrant.models.kernels import Kernel, Matern52, OnItself, Stationary, WithInputs


@dataclass(frozen=True)
class Additive(Kernel):
    """(whole + odds · mean of effects) / (1 + odds).

    The whole is a kernel of all inputs, with its own lengthscales; an effect the same kernel of one
    input, and all effects share a lengthscale.

    Args:
        per_dimension: as of any kernel; of the whole.
        categorical: as of any kernel.
        whole: the class of the kernel.
    """

    whole: type[Stationary] = Matern52

    def parameter_names(self, dim: int) -> list[str]:
        names = super().parameter_names(dim)
        return names if dim == 1 else [*names, "effect", "odds"]

    def on_itself(self, X: FloatArray) -> OnItself:
        n, dim = X.shape
        whole = self._whole.on_itself(X)
        if dim == 1:
            return whole
        below = np.tril_indices(n, -1)  # correlations are symmetric: half of them is enough
        distances = np.empty((dim, below[0].size))
        for i in range(dim):
            distances[i] = self._distances(X[:, i], X[:, i], i)[0][below]

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, pullback_whole = whole(theta[:-2])
            r2 = distances * np.exp(-2.0 * theta[-2])
            each, slope = self.whole.profile(r2)
            effects, share = np.ones((n, n)), _share(theta)
            effects[below] = each.mean(axis=0)
            effects.T[below] = effects[below]

            def pullback(M: FloatArray) -> FloatArray:
                # ∂r²/∂log ℓ = −2 r², and each pair counts twice
                by_length = (slope() * r2).sum(axis=0) @ M[below] * (-4.0 * share / dim)
                by_odds = np.vdot(effects - C, M) * share * (1.0 - share)
                return np.concatenate([pullback_whole((1.0 - share) * M), [by_length, by_odds]])

            return (1.0 - share) * C + share * effects, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        dim = X.shape[1]
        if dim == 1:
            return self._whole.with_inputs(theta, X)
        whole = self._whole.with_inputs(theta[:-2], X)
        inverse, share = np.exp(-2.0 * theta[-2]), _share(theta)

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, pullback_whole = whole(x)
            effects = np.zeros_like(C)
            slopes = []
            for i in range(dim):
                squared, difference = self._distances(x[:, i], X[:, i], i)
                effect, slope = self.whole.profile(squared * inverse)
                effects += effect
                slopes.append((slope, difference))

            def pullback(W: FloatArray) -> FloatArray:
                by_x = pullback_whole((1.0 - share) * W)
                factor = 2.0 * inverse * share / dim
                for i, (slope, difference) in enumerate(slopes):
                    if difference is not None:
                        by_x[:, i] += factor * (W * slope() * difference).sum(axis=1)
                return by_x

            return (1.0 - share) * C + (share / dim) * effects, pullback

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.ones(x.shape[0]), np.zeros_like(x)

    @property
    def _whole(self) -> Stationary:
        return self.whole(self.per_dimension, self.categorical)

    def _distances(
        self, a: FloatArray, b: FloatArray, column: int
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return squared distances of values of one input, and differences where it is a number."""
        if column in self.categorical:
            return np.not_equal.outer(a, b).astype(float), None
        difference = np.subtract.outer(a, b)
        return difference * difference, difference


def _share(theta: FloatArray) -> float:
    """Return the share of the effects: odds / (1 + odds)."""
    return float(1.0 / (1.0 + np.exp(-theta[-1])))
