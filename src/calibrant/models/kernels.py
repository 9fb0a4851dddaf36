"""Covariance functions with their derivatives.

Every kernel here is a *correlation* C with C(x, x) of order one; the Gaussian process multiplies it
by a signal variance and adds noise. Derivatives are pulled back: where the caller knows ∂loss/∂C,
the kernel returns ∂loss/∂parameters (of a symmetric ∂loss/∂C) or ∂loss/∂x, by matrix products of
size n² and without any array of size n²·d.

=========  ==========================================================================
symbol     meaning
=========  ==========================================================================
``X``      (n, d) inputs on the unit cube
``theta``  natural logarithms of the kernel's parameters
``Z``      (n, D) positions of the inputs, in units of their lengthscales
``r2``     squared distance of rows of Z, plus 1/ℓ² for each category that differs
=========  ==========================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.gaussian import FloatArray

# theta -> (C of the rows among themselves, pullback of ∂loss/∂C to theta)
OnItself = Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]

_CENTRE = 0.5  # of the unit cube: differences of small numbers lose fewer digits


# x (m, d) -> (C of x with the inputs (m, n), pullback of ∂loss/∂C to x)
WithInputs = Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]


@dataclass(frozen=True)
class Kernel(ABC):
    """A correlation function of points on the unit cube.

    Args:
        per_dimension: one lengthscale for each input, or a single one for all.
        categorical: columns whose values are labels: equal or different, nothing in between.
    """

    per_dimension: bool = False
    categorical: tuple[int, ...] = ()

    def parameter_names(self, dim: int) -> list[str]:
        """Return one name for each entry of ``theta``."""
        return [f"lengthscale{i}" for i in range(dim)] if self.per_dimension else ["lengthscale"]

    @abstractmethod
    def on_itself(self, X: FloatArray) -> OnItself:
        """Return the function theta → (C(X, X), its pullback to theta)."""

    @abstractmethod
    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        """Return the function x → (C(x, X), its pullback to x)."""

    @abstractmethod
    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C(x, x) for each row of x, and its gradient by x."""

    def _inverse_lengthscales(self, theta: FloatArray, dim: int) -> FloatArray:
        if self.per_dimension:
            return np.asarray(np.exp(-theta[:dim]))
        return np.full(dim, np.exp(-theta[0]))

    def _per_parameter(self, per_column: FloatArray) -> FloatArray:
        """Sum a gradient by the columns' log-lengthscales into one by ``theta``."""
        return per_column if self.per_dimension else per_column.sum(keepdims=True)

    def _numeric(self, dim: int) -> NDArray[np.intp]:
        return np.setdiff1d(np.arange(dim), np.array(self.categorical, dtype=np.intp))


class Positions(NamedTuple):
    """Where inputs lie, in lengthscales; column j belongs to input j modulo their number."""

    Z: FloatArray  # (n, D)
    by_input: FloatArray  # ∂Z/∂input, (n, D) or (D,)
    by_period: FloatArray | None = None  # ∂Z/∂log period, (n, D)


class Stationary(Kernel):
    """A function of distance alone."""

    @staticmethod
    @abstractmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return φ(r²), and a function for its derivative by r²."""

    def _positions(self, theta: FloatArray, x: FloatArray, inverse: FloatArray) -> Positions:
        return Positions(x * inverse, inverse)

    def on_itself(self, X: FloatArray) -> OnItself:
        dim = X.shape[1]
        columns = self._numeric(dim)
        numeric = X[:, columns] - _CENTRE
        different = [X[:, c, None] != X[None, :, c] for c in self.categorical]

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
                    gradient[c] = -2.0 * inverse[c] ** 2 * P[differs].sum()
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
        plain = columns.size == dim  # no categories to step around
        inverse = self._inverse_lengthscales(theta, dim)
        Z = self._positions(theta, X[:, columns] - _CENTRE, inverse[columns]).Z
        squares, turned = (Z * Z).sum(axis=1), -2.0 * Z.T

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            numeric = (x if plain else x[:, columns]) - _CENTRE
            z, by_input, _ = self._positions(theta, numeric, inverse[columns])
            r2 = z @ turned
            r2 += squares
            r2 += np.einsum("ij,ij->i", z, z)[:, None]
            np.maximum(r2, 0.0, out=r2)
            for c in self.categorical:
                r2 += (x[:, c, None] != X[None, :, c]) * inverse[c] ** 2
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
    """exp(−r²/2): infinitely smooth."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        C = np.exp(-0.5 * r2)
        return C, lambda: -0.5 * C


class Matern32(Stationary):
    """(1 + √3 r)·exp(−√3 r): once differentiable."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        r = np.sqrt(3.0 * r2)
        decay = np.exp(-r)
        return (1.0 + r) * decay, lambda: -1.5 * decay


class Matern52(Stationary):
    """(1 + √5 r + 5r²/3)·exp(−√5 r): twice differentiable."""

    @staticmethod
    def profile(r2: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        # In place: fresh memory costs more than the arithmetic does.
        linear = 5.0 * r2
        np.sqrt(linear, out=linear)  # r
        decay = np.negative(linear)
        np.exp(decay, out=decay)
        linear += 1.0
        C = (5.0 / 3.0) * r2
        C += linear
        C *= decay

        def slope() -> FloatArray:
            by_r2 = linear * decay
            by_r2 *= -5.0 / 6.0
            return np.asarray(by_r2)

        return C, slope


class Periodic(RBF):
    """exp(−2 Σ sin²(π(x − x′)/period)/ℓ²): the RBF kernel on circles, one period for all inputs."""

    def parameter_names(self, dim: int) -> list[str]:
        return [*super().parameter_names(dim), "period"]

    def _positions(self, theta: FloatArray, x: FloatArray, inverse: FloatArray) -> Positions:
        turns = 2.0 * np.pi / np.exp(theta[-1])
        angle = turns * x
        position = np.hstack([np.cos(angle), np.sin(angle)])
        ahead = np.hstack([-np.sin(angle), np.cos(angle)])  # ∂position/∂angle
        inverse, angle = np.tile(inverse, 2), np.tile(angle, 2)
        return Positions(position * inverse, turns * ahead * inverse, -angle * ahead * inverse)


class Linear(Kernel):
    """1 + Σ (x − ½)(x′ − ½)/ℓ², and 1/ℓ² for each category that agrees: planes."""

    def on_itself(self, X: FloatArray) -> OnItself:
        dim = X.shape[1]
        same = [(X[:, c, None] == X[None, :, c]).astype(float) for c in self.categorical]
        columns = self._numeric(dim)

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            inverse = self._inverse_lengthscales(theta, dim)
            Z = (X[:, columns] - _CENTRE) * inverse[columns]
            C = 1.0 + Z @ Z.T
            for c, agrees in zip(self.categorical, same, strict=True):
                C += agrees * inverse[c] ** 2

            def pullback(M: FloatArray) -> FloatArray:
                gradient = np.empty(dim)
                gradient[columns] = -2.0 * (Z * (M @ Z)).sum(axis=0)
                for c, agrees in zip(self.categorical, same, strict=True):
                    gradient[c] = -2.0 * inverse[c] ** 2 * (M * agrees).sum()
                return self._per_parameter(gradient)

            return C, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        columns = self._numeric(X.shape[1])
        inverse = self._inverse_lengthscales(theta, X.shape[1])
        Z = (X[:, columns] - _CENTRE) * inverse[columns]

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C = 1.0 + (x[:, columns] - _CENTRE) * inverse[columns] @ Z.T
            for c in self.categorical:
                C += (x[:, c, None] == X[None, :, c]) * inverse[c] ** 2

            def pullback(W: FloatArray) -> FloatArray:
                gradient = np.zeros_like(x)
                gradient[:, columns] = (W @ Z) * inverse[columns]
                return gradient

            return C, pullback

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        columns = self._numeric(x.shape[1])
        inverse = self._inverse_lengthscales(theta, x.shape[1])
        centred = x[:, columns] - _CENTRE
        gradient = np.zeros_like(x)
        gradient[:, columns] = 2.0 * centred * inverse[columns] ** 2
        labels = (inverse[list(self.categorical)] ** 2).sum()
        return 1.0 + ((centred * inverse[columns]) ** 2).sum(axis=1) + labels, gradient


def _by_input(by_position: FloatArray, inputs: int) -> FloatArray:
    """Sum what belongs to the same input; on a circle each has two positions."""
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
