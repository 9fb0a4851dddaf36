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

# The whole and all effects are one array, of as many points or pairs as stay in the cache: few
# large steps are faster than many small ones, but new memory costs more than the arithmetic.
_IN_CACHE = 8_192


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
        pairs, lower = rows.size, rows * n + columns
        places = np.zeros((n, n), dtype=np.intp)  # of each correlation; the first is the diagonal's
        places[rows, columns] = places[columns, rows] = np.arange(1, pairs + 1)
        away = X.T.take(rows, axis=1)
        away -= X.T.take(columns, axis=1)
        np.abs(away, out=away)
        for c in self.categorical:
            away[c] = np.sqrt(apart(X[:, c], X[:, c], c)[rows, columns])
        squared = np.square(away)
        # With one lengthscale for all inputs, these are summed once and for all.
        summed = squared if self.per_dimension else squared.sum(axis=0, keepdims=True)
        pieces = _pieces(pairs, dim + 1)

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            of_whole, of_effect, weights = self._parts(theta, dim)
            inverse = np.sqrt(of_effect)
            C = np.empty(1 + pairs)
            C[0] = 1.0
            slope_whole, moved, gained = slopes = np.empty((3, pairs))
            for some in pieces:
                r = np.empty((1 + dim, some.stop - some.start))
                np.sqrt(of_whole @ summed[:, some], out=r[0])
                np.multiply(away[:, some], inverse, out=r[1:])
                phi, slope = self.whole.of_distances(r)
                mean = np.matmul(weights, phi, out=C[1 + some.start : 1 + some.stop])
                np.subtract(mean, phi[0], out=gained[some])
                steep = slope()
                slope_whole[some] = steep[0]
                steep[1:] *= squared[:, some]
                np.matmul(weights[1:], steep[1:], out=moved[some])
            C += self.level

            def pullback(M: FloatArray) -> FloatArray:
                P = M.reshape(-1)[lower]  # each pair counts twice, and ∂r²/∂log ℓ is −2 r²
                by_effect, by_odds = slopes[1:] @ P
                by_whole = -4.0 * weights[0] * of_whole * (summed @ (P * slope_whole))
                by_effect *= -4.0 * of_effect
                return np.array([*by_whole, by_effect, 2.0 * weights[0] * by_odds])

            return C[places], pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        n, dim = X.shape
        if dim == 1:
            return self._raised(self._whole.with_inputs(theta, X))
        of_whole, of_effect, weights = self._parts(theta, dim)
        of_whole, inverse = np.broadcast_to(of_whole, dim), np.sqrt(of_effect)
        inputs = np.ascontiguousarray(X.T)[:, None] * inverse  # (dim, 1, n)

        def of(x: FloatArray) -> tuple[FloatArray, FloatArray, Callable[[], FloatArray]]:
            """Return differences (dim, m, n), and φ and φ′ of the whole and of each input."""
            difference = (x.T * inverse).reshape(dim, -1, 1) - inputs
            r = np.empty((1 + dim, *difference.shape[1:]))
            away = np.abs(difference, out=r[1:])
            for c in self.categorical:  # labels differ, they are not apart
                np.multiply(np.sqrt(apart(x[:, c], X[:, c], c)), inverse, out=away[c])
                difference[c] = 0.0
            r = r.reshape(1 + dim, -1)
            np.sqrt((of_whole / of_effect) @ np.square(r[1:]), out=r[0])
            return difference, *self.whole.of_distances(r)

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            pieces = _pieces(len(x), (1 + dim) * n)
            C = np.empty((len(x), n))
            for some in pieces:
                difference, phi, slope = of(x[some])
                np.matmul(weights, phi, out=C[some].reshape(-1))
            C += self.level

            def pullback(W: FloatArray) -> FloatArray:
                by_x = np.empty_like(x)
                for some in pieces:
                    # To keep all of several pieces would cost those who need no gradient more than
                    # it costs the others to find them again.
                    apart_by, _, by = of(x[some]) if len(pieces) > 1 else (difference, phi, slope)
                    steep = by().reshape(1 + dim, -1, n)
                    steep[1:] *= apart_by
                    whole = np.einsum("dmn,mn->md", apart_by, W[some] * steep[0])
                    effects = np.einsum("dmn,mn->md", steep[1:], W[some])
                    whole *= weights[0] / inverse * of_whole
                    effects *= weights[1] * inverse
                    by_x[some] = 2.0 * (whole + effects)
                return by_x

            return C, pullback

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

    def _parts(self, theta: FloatArray, dim: int) -> tuple[FloatArray, float, FloatArray]:
        """Return ℓ⁻² of the whole and of effects, and the weights of the whole and of effects."""
        share = 1.0 / (1.0 + np.exp(-theta[-1]))  # odds / (1 + odds)
        weights = np.full(1 + dim, share / dim)
        weights[0] = 1.0 - share
        return np.exp(-2.0 * theta[:-2]), np.exp(-2.0 * theta[-2]), weights


def _pieces(count: int, entries: int) -> list[slice]:
    """Return which to go through at once, where each has so many entries of an array."""
    step = max(1, _IN_CACHE // max(1, entries))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
