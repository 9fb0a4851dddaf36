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
from typing import NamedTuple

import numpy as np

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import Kernel, OnItself, WithInputs, apart
from calibrant.models.kernels.stationary import Matern52, Periodic, Stationary

# Numbers of which effects are kept for the gradient. More are computed again where it is asked for:
# in a hundred dimensions screening would take a gigabyte, and asks for no gradient.
_KEPT = 2_000_000
_BLOCK = 32_000  # of them computed at a time: they stay in the cache


class Effect(NamedTuple):
    """The correlations of one input's effect, the slope by r², and differences if it is numeric."""

    values: FloatArray
    slope: Callable[[], FloatArray]
    difference: FloatArray | None


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
        below = np.tril_indices(n, -1)  # correlations are symmetric, so half of them suffice
        squared = np.empty((dim, below[0].size))
        for i, column in enumerate(X.T.copy()):
            if i in self.categorical:
                squared[i] = self._distances(column, column, i)[0][below]
            else:  # of these pairs alone: half of the work, and no matrix to choose them from
                np.square(column[below[0]] - column[below[1]], out=squared[i])

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            of_whole = self._inverse_lengthscales(theta, dim) ** 2
            of_effect, share = np.exp(-2.0 * theta[-2]), _share(theta)
            whole, slope_whole = self.whole.profile(of_whole @ squared)
            # One effect at a time, and only sums are kept, so that memory stays in the cache:
            # new memory for all effects would cost more than the arithmetic.
            effects, moved = np.zeros((2, below[0].size))
            for row in squared:
                effect, slope = self.whole.profile(of_effect * row)
                effects += effect
                moved += slope() * row
            effects /= dim
            C = np.full((n, n), 1.0 + self.level)
            C[below] = self.level + (1.0 - share) * whole + share * effects
            C.T[below] = C[below]

            def pullback(M: FloatArray) -> FloatArray:
                P = 2.0 * M[below]  # each pair counts twice
                # ∂r²/∂log ℓ = −2 r²
                by_whole = -2.0 * (1.0 - share) * of_whole * (squared @ (P * slope_whole()))
                by_effect = -2.0 * share / dim * of_effect * (moved @ P)
                by_odds = (effects - whole) @ P * share * (1.0 - share)
                return np.concatenate([self._per_parameter(by_whole), [by_effect, by_odds]])

            return C, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        dim = X.shape[1]
        if dim == 1:
            return self._raised(self._whole.with_inputs(theta, X))
        whole = self._whole.with_inputs(theta[:-2], X)
        inverse, share = np.exp(-2.0 * theta[-2]), _share(theta)

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, pullback_whole = whole(x)
            effects = np.zeros_like(C)

            def effect_of(i: int, rows: slice = slice(None)) -> Effect:
                squared, difference = self._distances(x[rows, i], X[:, i], i)
                return Effect(*self.whole.profile(squared * inverse), difference)

            kept = [effect_of(i) for i in range(dim)] if dim * C.size <= _KEPT else []
            for effect in kept:
                effects += effect.values
            if not kept:
                step = max(1, _BLOCK // X.shape[0])
                for rows in (slice(at, at + step) for at in range(0, x.shape[0], step)):
                    for i in range(dim):
                        effects[rows] += effect_of(i, rows).values

            def pullback(W: FloatArray) -> FloatArray:
                by_x = pullback_whole((1.0 - share) * W)
                factor = 2.0 * inverse * share / dim
                for i in range(dim):
                    effect = kept[i] if kept else effect_of(i)
                    if effect.difference is not None:
                        by_x[:, i] += factor * (W * effect.slope() * effect.difference).sum(axis=1)
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

    def _distances(
        self, a: FloatArray, b: FloatArray, column: int
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return squared distances of one input's values, and differences if it is numeric."""
        if column in self.categorical:
            label = self.categorical[self.categorical.index(column)]  # which knows what it is
            return apart(a, b, label).astype(float), None
        difference = np.subtract.outer(a, b)
        return difference * difference, difference


def _share(theta: FloatArray) -> float:
    """Return the share of the effects, odds / (1 + odds)."""
    return float(1.0 / (1.0 + np.exp(-theta[-1])))
