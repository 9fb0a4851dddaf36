"""Stationary kernels, which depend on distance alone: RBF, Matérn and periodic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import CENTRE, Kernel, OnItself, WithInputs, apart

_ROOT_5 = 5.0**0.5


class Positions(NamedTuple):
    """Positions of inputs, in lengthscales; column j belongs to input j mod their number."""

    Z: FloatArray  # (n, D)
    by_input: FloatArray  # ∂Z/∂input, (n, D) or (D,)
    by_period: FloatArray | None = None  # ∂Z/∂log period, (n, D)


class Stationary(Kernel):
    """A kernel that depends on the distance of points alone."""

    @staticmethod
    @abstractmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return φ(r²), and a function that returns its derivative by r²."""

    @classmethod
    def of_distances(cls, r: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return the same of distances r, which are overwritten.

        With one input these are known without a root, which takes longer than an exponential.
        """
        return cls.profile(np.square(r, out=r))

    def _positions(self, theta: FloatArray, x: FloatArray, inverse: FloatArray) -> Positions:
        return Positions(x * inverse, inverse)

    def on_itself(self, X: FloatArray) -> OnItself:
        dim = X.shape[1]
        columns = self._numeric(dim)
        numeric = X[:, columns] - CENTRE
        different = [apart(X[:, c], X[:, c], c) for c in self.categorical]

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            inverse = self._inverse_lengthscales(theta, dim)
            Z, _, by_period = self._positions(theta, numeric, inverse[columns])
            r2 = _squared_distances(Z, Z)
            np.fill_diagonal(r2, 0.0)
            for c, differs in zip(self.categorical, different, strict=True):
                r2 += differs * inverse[c] ** 2
            C, slope = self.profile(r2)

            def pullback(M: FloatArray) -> FloatArray:
                P = M * slope()
                rows = P.sum(axis=1)
                # Σ P_ij (z_i − z_j)² for each column; ∂r²/∂log ℓ is −2 (z_i − z_j)²
                spread = 2.0 * (rows @ (Z * Z) - (Z * (P @ Z)).sum(axis=0))
                gradient = np.empty(dim)
                gradient[columns] = -2.0 * _by_input(spread, columns.size)
                for c, differs in zip(self.categorical, different, strict=True):
                    gradient[c] = -2.0 * inverse[c] ** 2 * (P * differs).sum()
                gradient = self._per_parameter(gradient)
                if by_period is None:
                    return gradient
                own = rows @ (Z * by_period).sum(axis=1)
                return np.append(gradient, 4.0 * (own - (Z * (P @ by_period)).sum()))

            return C, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        dim = X.shape[1]
        columns = self._numeric(dim)
        plain = columns.size == dim  # there are no categories to leave out
        inverse = self._inverse_lengthscales(theta, dim)
        Z = self._positions(theta, X[:, columns] - CENTRE, inverse[columns]).Z
        squares, turned = (Z * Z).sum(axis=1), -2.0 * Z.T

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            numeric = (x if plain else x[:, columns]) - CENTRE
            z, by_input, _ = self._positions(theta, numeric, inverse[columns])
            r2 = z @ turned
            r2 += squares
            r2 += np.einsum("ij,ij->i", z, z)[:, None]
            np.maximum(r2, 0.0, out=r2)
            for c in self.categorical:
                r2 += apart(x[:, c], X[:, c], c) * inverse[c] ** 2
            C, slope = self.profile(r2)

            def pullback(W: FloatArray) -> FloatArray:
                P = W * slope()
                by_z = 2.0 * (P.sum(axis=1)[:, None] * z - P @ Z) * by_input
                if plain:
                    return _by_input(by_z, dim)
                gradient = np.zeros_like(x)
                gradient[:, columns] = _by_input(by_z, columns.size)
                return gradient

            return C, pullback

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.ones(x.shape[0]), np.zeros_like(x)


class RBF(Stationary):
    """The RBF (squared exponential) kernel exp(−r²/2): infinitely smooth."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        C = np.exp(-0.5 * r2)
        return C, lambda: -0.5 * C


class Matern32(Stationary):
    """The Matérn-3/2 kernel (1 + √3 r)·exp(−√3 r): once differentiable."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        r = np.sqrt(3.0 * r2)
        decay = np.exp(-r)
        return (1.0 + r) * decay, lambda: -1.5 * decay


class Matern52(Stationary):
    """The Matérn-5/2 kernel (1 + √5 r + 5r²/3)·exp(−√5 r): twice differentiable."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        return Matern52.of_distances(np.sqrt(r2))

    @classmethod
    def of_distances(cls, r: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        # In place, because new memory costs more than the arithmetic.
        r *= -_ROOT_5
        decay = np.exp(r)
        C = r * (1.0 / 3.0)
        C -= 1.0
        C *= r
        C += 1.0
        C *= decay

        def slope() -> FloatArray:
            by_r2 = r - 1.0
            by_r2 *= decay
            by_r2 *= 5.0 / 6.0
            return np.asarray(by_r2)

        return C, slope


class Periodic(RBF):
    """The periodic kernel exp(−2 Σ sin²(π(x − x′)/period)/ℓ²), with one period for all inputs.

    It is the RBF kernel of points on circles, one circle per input.
    """

    def parameter_names(self, dim: int) -> list[str]:
        return [*super().parameter_names(dim), "period"]

    def _positions(self, theta: FloatArray, x: FloatArray, inverse: FloatArray) -> Positions:
        turns = 2.0 * np.pi / np.exp(theta[-1])
        angle = turns * x
        position = np.hstack([np.cos(angle), np.sin(angle)])
        ahead = np.hstack([-np.sin(angle), np.cos(angle)])  # ∂position/∂angle
        inverse, angle = np.tile(inverse, 2), np.tile(angle, 2)
        return Positions(position * inverse, turns * ahead * inverse, -angle * ahead * inverse)


def _by_input(by_position: FloatArray, inputs: int) -> FloatArray:
    """Sum the columns that belong to the same input, which has two positions on a circle."""
    if by_position.shape[-1] == inputs:
        return by_position
    copies = by_position.shape[-1] // max(1, inputs)
    return np.asarray(by_position.reshape(*by_position.shape[:-1], copies, inputs).sum(axis=-2))


def _squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return |a − b|² for all rows a of A and b of B, by one matrix product."""
    r2 = A @ (-2.0 * B.T)
    r2 += (A * A).sum(axis=1)[:, None]
    r2 += (B * B).sum(axis=1)
    return np.maximum(r2, 0.0, out=r2)
