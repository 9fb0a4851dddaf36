"""An additive kernel (Duvenaud, Nickisch and Rasmussen 2011), with an unknown constant level.

Most functions that people minimise are partly sums: each parameter has an effect of its own, and
some interact. A few dozen outcomes in ten dimensions can determine the single effects, but hardly
the interactions. Of the paper's orders of interaction only two are used, single inputs and all
inputs together, and their proportion is learned. The level around which the function moves is
inferred too: a search evaluates mostly where the function is low, so the mean of its outcomes is
not what to expect elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import Kernel, OnItself, WithInputs, apart
from calibrant.models.kernels.stationary import Matern52, Periodic, Stationary

# Effects of several inputs are one array where it stays in the cache: few large steps are faster
# than many small ones, but new memory costs more than the arithmetic.
_IN_CACHE = 8192


@dataclass(frozen=True)
class Additive(Kernel):
    """An additive kernel (Duvenaud et al. 2011): level + (whole + odds · mean effect)/(1 + odds).

    The whole is a kernel of all inputs, with its own lengthscales. An effect is the same kernel of
    a single input; all effects share one lengthscale, and their mean counts with learned odds.

    Args:
        per_dimension: as for any kernel; it applies to the whole.
        categorical: as for any kernel.
        whole: the class of the kernel.
        level: variance of the level, relative to the variance of the function around it. With 0
            the level is fixed at the mean of the outcomes.
    """

    whole: type[Stationary] = Matern52
    level: float = 1.0

    def __post_init__(self) -> None:
        validate.not_negative("level", self.level)
        if not issubclass(self.whole, Stationary) or issubclass(self.whole, Periodic):
            raise ValueError(
                "`whole` must be a kernel of distances alone, such as RBF, Matern32 or Matern52, "
                f"but got {self.whole.__name__}."
            )

    def parameter_names(self, dim: int) -> list[str]:
        names = super().parameter_names(dim)
        return names if dim == 1 else [*names, "effect", "odds"]

    def on_itself(self, X: FloatArray) -> OnItself:
        n, dim = X.shape
        if dim == 1:
            return self._raised(self._whole.on_itself(X))
        rows, columns = np.tril_indices(n, -1)  # correlations are symmetric: half of them suffice
        lower, upper = rows * n + columns, columns * n + rows
        squared = np.square(X.T[:, rows] - X.T[:, columns])
        for c in self.categorical:
            squared[c] = apart(X[:, c], X[:, c], c)[rows, columns]

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            of_whole = self._inverse_lengthscales(theta, dim) ** 2
            of_effect, share = np.exp(-2.0 * theta[-2]), _share(theta)
            whole, slope_whole = self.whole.profile(of_whole @ squared)
            effects, moved = np.zeros((2, rows.size))
            for some in _together(dim, rows.size):
                effect, slope = self.whole.profile(of_effect * squared[some])
                effects += effect.sum(axis=0)
                moved += (slope() * squared[some]).sum(axis=0)
            effects /= dim
            C = np.full(n * n, 1.0 + self.level)
            C[lower] = C[upper] = self.level + (1.0 - share) * whole + share * effects

            def pullback(M: FloatArray) -> FloatArray:
                P = 2.0 * M.reshape(-1)[lower]  # each pair counts twice
                # ∂r²/∂log ℓ = −2 r²
                by_whole = -2.0 * (1.0 - share) * of_whole * (squared @ (P * slope_whole()))
                by_effect = -2.0 * share / dim * of_effect * (moved @ P)
                by_odds = (effects - whole) @ P * share * (1.0 - share)
                return np.concatenate([self._per_parameter(by_whole), [by_effect, by_odds]])

            return C.reshape(n, n), pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        dim = X.shape[1]
        if dim == 1:
            return self._raised(self._whole.with_inputs(theta, X))
        whole = self._whole.with_inputs(theta[:-2], X)
        inverse, share = np.exp(-theta[-2]), _share(theta)
        inputs = X.T[:, None] * inverse  # (dim, 1, n)

        def of(
            x: FloatArray, some: slice
        ) -> tuple[FloatArray, FloatArray, Callable[[], FloatArray]]:
            """Return by how much values are apart, in lengthscales, and φ and φ′ of that."""
            difference = x.T[some, :, None] * inverse - inputs[some]
            squared = np.square(difference)
            for c in self.categorical:  # labels differ, they are not apart
                if some.start <= c < some.stop:
                    squared[c - some.start] = apart(x[:, c], X[:, c], c) * inverse**2
                    difference[c - some.start] = 0.0
            return difference, *self.whole.profile(squared)

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, pullback_whole = whole(x)
            groups = _together(dim, C.size)
            effects = np.zeros_like(C)
            for some in groups:
                difference, effect, slope = of(x, some)
                effects += effect.sum(axis=0)

            def pullback(W: FloatArray) -> FloatArray:
                by_x = pullback_whole((1.0 - share) * W)
                factor = 2.0 * inverse * share / dim
                for some in groups:
                    # To keep all of several groups would cost those who need no gradient more than
                    # it costs the others to find them again.
                    apart_by, _, by = (
                        of(x, some) if len(groups) > 1 else (difference, effect, slope)
                    )
                    by_x[:, some] += factor * (W * by() * apart_by).sum(axis=2).T
                return by_x

            return self.level + (1.0 - share) * C + (share / dim) * effects, pullback

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(x.shape[0], 1.0 + self.level), np.zeros_like(x)

    def _raised(self, forward: OnItself) -> OnItself:
        """Return the function with the level added to its correlations."""

        def raised(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, pullback = forward(x)
            return self.level + C, pullback

        return raised

    @property
    def _whole(self) -> Stationary:
        return self.whole(self.per_dimension, self.categorical)


def _together(dim: int, size: int) -> list[slice]:
    """Return which inputs to go through at once, where arrays of one input have so many entries."""
    step = max(1, _IN_CACHE // max(1, size))
    return [slice(start, min(start + step, dim)) for start in range(0, dim, step)]


def _share(theta: FloatArray) -> float:
    """Return the share of the effects, odds / (1 + odds)."""
    return float(1.0 / (1.0 + np.exp(-theta[-1])))
