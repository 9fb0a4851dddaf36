"""The linear kernel, whose functions are planes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import CENTRE, Kernel, OnItself, WithInputs


class Linear(Kernel):
    """The linear kernel, 1 + Σ (x − ½)(x′ − ½)/ℓ², plus 1/ℓ² per category that agrees."""

    def on_itself(self, X: FloatArray) -> OnItself:
        dim = X.shape[1]
        same = [(X[:, c, None] == X[None, :, c]).astype(float) for c in self.categorical]
        columns = self._numeric(dim)

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            inverse = self._inverse_lengthscales(theta, dim)
            Z = (X[:, columns] - CENTRE) * inverse[columns]
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
        Z = (X[:, columns] - CENTRE) * inverse[columns]

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            C = 1.0 + (x[:, columns] - CENTRE) * inverse[columns] @ Z.T
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
        centred = x[:, columns] - CENTRE
        gradient = np.zeros_like(x)
        gradient[:, columns] = 2.0 * centred * inverse[columns] ** 2
        labels = (inverse[list(self.categorical)] ** 2).sum()
        return 1.0 + ((centred * inverse[columns]) ** 2).sum(axis=1) + labels, gradient
