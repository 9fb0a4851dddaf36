"""A kernel that knows other functions, such as what models of earlier studies forecast.

The function is modelled as b₁·f₁(x) + b₂·f₂(x) + … + a process of its own, where the f are known
and each coefficient b is Gaussian around 0. That is a kernel, the process's own plus
trust·f(x)f(x′) for each f. The trust is learned like any other hyper-parameter: where an f has
nothing to do with the outcomes it falls, and the process is left as it would be without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import Kernel, OnItself, WithInputs
from calibrant.models.kernels.stationary import Matern52

# points (m, d) -> values (m,), of mean 0 and variance 1 over the cube, and their gradients (m, d)
Feature = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Informed(Kernel):
    """Another kernel, plus trust · f(x) f(x′)/k for each of k known functions f.

    ``per_dimension`` is a setting of the inner kernel.

    Args:
        kernel: the correlation function of what the known functions do not tell.
        features: the known functions.
    """

    kernel: Kernel = field(default_factory=Matern52)
    features: tuple[Feature, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.per_dimension, Kernel):
            raise TypeError(
                f"Pass the inner kernel by name: Informed(kernel={self.per_dimension!r})."
            )
        if not self.categorical:
            object.__setattr__(self, "categorical", self.kernel.categorical)

    @property
    def inner(self) -> Kernel:
        """The kernel of what the known functions do not tell."""
        return replace(self.kernel, categorical=self.categorical)

    def parameter_names(self, dim: int) -> list[str]:
        trusts = [f"trust{place}" for place in range(len(self.features))]
        return [*self.inner.parameter_names(dim), *trusts]

    def on_itself(self, X: FloatArray) -> OnItself:
        own = self.inner.on_itself(X)
        F, _ = self._values(X)

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            rest, trust = self._parts(theta)
            C, to_rest = own(rest)

            def pullback(M: FloatArray) -> FloatArray:
                return np.concatenate([to_rest(M), trust * np.einsum("ik,ij,jk->k", F, M, F)])

            return C + (F * trust) @ F.T, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        rest, trust = self._parts(theta)
        own = self.inner.with_inputs(rest, X)
        weighted = self._values(X)[0] * trust  # (n, k)

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C, to_x = own(x)
            f, gradients = self._values(x)

            def pullback(W: FloatArray) -> FloatArray:
                return np.asarray(to_x(W) + np.einsum("mk,kmd->md", W @ weighted, gradients))

            return C + f @ weighted.T, pullback

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        rest, trust = self._parts(theta)
        value, gradient = self.inner.diagonal(rest, x)
        f, gradients = self._values(x)
        added = np.einsum("mk,kmd->md", 2.0 * f * trust, gradients)
        return value + f**2 @ trust, gradient + added

    def trusts(self, theta: FloatArray) -> FloatArray:
        """Return how large each known function is beside the rest, as shares of variance, (k,)."""
        _, trust = self._parts(theta)
        return np.asarray(trust / (1.0 + trust.sum()))

    def _parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the inner kernel's parameters, and the variance of each coefficient."""
        count = len(self.features)
        cut = theta.size - count
        return theta[:cut], np.exp(theta[cut:]) / max(1, count)

    def _values(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the known functions at points, (m, k), and their gradients, (k, m, d)."""
        found = [feature(X) for feature in self.features]
        values = np.array([value for value, _ in found]).reshape(-1, X.shape[0]).T
        return values, np.array([by_x for _, by_x in found]).reshape(-1, *X.shape)
