"""The interface of kernels, and the notation of their derivatives.

Every kernel is a *correlation* C with C(x, x) of order one; the Gaussian process multiplies it by a
signal variance and adds noise. Derivatives are pullbacks (reverse mode): given ∂loss/∂C, a kernel
returns ∂loss/∂parameters (for a symmetric ∂loss/∂C) or ∂loss/∂x, by matrix products of size n² and
without any array of size n²·d.

=========  ==========================================================================
symbol     meaning
=========  ==========================================================================
``X``      (n, d) inputs on the unit cube
``theta``  natural logarithms of the kernel's parameters
``Z``      (n, D) positions of the inputs, in units of their lengthscales
``r2``     squared distance between rows of Z, plus 1/ℓ² per category that differs; of two orders
           of items, the share of the pairs that they order differently
=========  ==========================================================================
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from calibrant.core.cube import Order
from calibrant.core.typing import FloatArray

# theta -> (C(X, X), pullback of ∂loss/∂C to theta)
OnItself = Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]

# x (m, d) -> (C(x, X), (m, n), pullback of ∂loss/∂C to x)
WithInputs = Callable[[FloatArray], tuple[FloatArray, Callable[[FloatArray], FloatArray]]]

CENTRE = 0.5  # of the unit cube: differences of small numbers lose fewer digits


@dataclass(frozen=True)
class Kernel(ABC):
    """A correlation function of points on the unit cube.

    Args:
        per_dimension: whether each input has its own lengthscale (ARD), or all share one.
        categorical: columns of labels, which are either equal or different; of an
            :class:`~calibrant.core.cube.Order`, more or less so.
    """

    per_dimension: bool = False
    categorical: tuple[int, ...] = ()

    def parameter_names(self, dim: int) -> list[str]:
        """Return one name per entry of ``theta``."""
        return [f"lengthscale{i}" for i in range(dim)] if self.per_dimension else ["lengthscale"]

    @abstractmethod
    def on_itself(self, X: FloatArray) -> OnItself:
        """Return the function theta → (C(X, X), its pullback to theta)."""

    @abstractmethod
    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        """Return the function x → (C(x, X), its pullback to x)."""

    @abstractmethod
    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C(x, x) for each row of x, and its gradient with respect to x."""

    def _inverse_lengthscales(self, theta: FloatArray, dim: int) -> FloatArray:
        if self.per_dimension:
            return np.asarray(np.exp(-theta[:dim]))
        return np.full(dim, np.exp(-theta[0]))

    def _per_parameter(self, per_column: FloatArray) -> FloatArray:
        """Turn a gradient per column's log-lengthscale into one per entry of ``theta``."""
        return per_column if self.per_dimension else per_column.sum(keepdims=True)

    def _numeric(self, dim: int) -> NDArray[np.intp]:
        if not self.categorical:
            return np.arange(dim)
        return np.setdiff1d(np.arange(dim), np.array(self.categorical, dtype=np.intp))


def apart(a: FloatArray, b: FloatArray, column: int) -> NDArray[np.bool_] | FloatArray:
    """Return squared distances of the labels of a column: 0 where they are equal, at most 1.

    Those of orders are the squared distances of vectors with an entry per pair of items, which says
    which of the two comes first (Kendall's): so any kernel of distances is one of orders.
    """
    if not isinstance(column, Order):
        return np.asarray(np.not_equal.outer(a, b))
    count = math.factorial(column.items)
    places = [np.clip((u * count).astype(np.intp), 0, count - 1) for u in (a, b)]
    return np.asarray(_discordant(column.items)[np.ix_(*places)])


@cache
def _discordant(items: int) -> FloatArray:
    """Return the share of pairs that each two orders of some items have the other way round."""
    places = np.argsort(list(itertools.permutations(range(items))), axis=1)
    first, second = np.triu_indices(items, 1)
    before = np.where(places[:, first] < places[:, second], 1.0, -1.0)
    return np.asarray(0.5 - 0.5 * before @ before.T / first.size)
