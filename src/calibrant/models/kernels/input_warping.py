"""Input warping (Snoek et al. 2014): a learned Kumaraswamy map of each input before the kernel.

A function that varies fast at one end of a range and slowly at the other is not stationary, but may
be so after a map of its inputs. The map of each coordinate is the CDF of a Kumaraswamy
distribution, ``w(x) = 1 − (1 − xᵃ)ᵇ``, with a and b fitted together with the kernel's own
parameters; a = b = 1 is the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from calibrant.core.typing import FloatArray
from calibrant.models.kernels.base import Kernel, OnItself, WithInputs
from calibrant.models.kernels.stationary import Matern52

_EDGE = 1e-9  # inputs keep this distance from 0 and 1, where slopes of w may be infinite


@dataclass(frozen=True)
class Kumaraswamy(Kernel):
    """Kumaraswamy input warping (Snoek et al. 2014): a kernel of warped inputs.

    Categories are not warped. ``per_dimension`` is a setting of the inner kernel.

    Args:
        kernel: the correlation function of the warped inputs.
    """

    kernel: Kernel = field(default_factory=Matern52)

    def __post_init__(self) -> None:
        if isinstance(self.per_dimension, Kernel):
            raise TypeError(
                f"Pass the inner kernel by name: Kumaraswamy(kernel={self.per_dimension!r})."
            )
        if not self.categorical:
            object.__setattr__(self, "categorical", self.kernel.categorical)

    def parameter_names(self, dim: int) -> list[str]:
        warps = [f"warp_{end}{column}" for end in "ab" for column in self._numeric(dim)]
        return [*self._inner.parameter_names(dim), *warps]

    def on_itself(self, X: FloatArray) -> OnItself:
        dim = X.shape[1]

        def forward(theta: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            own, powers = self._parts(theta, dim)
            warped, _, by_powers = self._warp(X, powers)
            C, to_own = self._inner.on_itself(warped)(own)

            def pullback(M: FloatArray) -> FloatArray:
                # C depends on each input twice, as a row and as a column; M is symmetric.
                to_warped = self._inner.with_inputs(own, warped)(warped)[1]
                by_warped = 2.0 * to_warped(M)[:, self._numeric(dim)]
                by_theta = [(by_warped * part).sum(axis=0) for part in by_powers]
                return np.concatenate([to_own(M), *by_theta])

            return C, pullback

        return forward

    def with_inputs(self, theta: FloatArray, X: FloatArray) -> WithInputs:
        own, powers = self._parts(theta, X.shape[1])
        inner = self._inner.with_inputs(own, self._warp(X, powers)[0])

        def forward(x: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
            warped, slope, _ = self._warp(x, powers)
            C, to_warped = inner(warped)
            return C, lambda W: to_warped(W) * slope

        return forward

    def diagonal(self, theta: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        own, powers = self._parts(theta, x.shape[1])
        warped, slope, _ = self._warp(x, powers)
        value, gradient = self._inner.diagonal(own, warped)
        return value, gradient * slope

    @property
    def _inner(self) -> Kernel:
        return replace(self.kernel, categorical=self.categorical)

    def _parts(self, theta: FloatArray, dim: int) -> tuple[FloatArray, FloatArray]:
        """Return the inner kernel's parameters, and a and b as (2, number of numeric columns)."""
        size = len(self._inner.parameter_names(dim))
        return theta[:size], np.exp(theta[size:]).reshape(2, -1)

    def _warp(
        self, X: FloatArray, powers: FloatArray
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        """Return w(X), its slope, and its derivatives by log a and log b for numeric columns."""
        columns = self._numeric(X.shape[1])
        a, b = powers
        x = np.clip(X[:, columns], _EDGE, 1.0 - _EDGE)
        log_x = np.log(x)
        raised = np.exp(a * log_x)  # xᵃ
        log_rest = np.log1p(-np.minimum(raised, 1.0 - 1e-16))  # log(1 − xᵃ)
        survival = np.exp(b * log_rest)  # (1 − xᵃ)ᵇ
        by_raised = b * np.exp((b - 1.0) * log_rest)  # ∂w/∂xᵃ
        warped, slope = X.copy(), np.ones_like(X)
        warped[:, columns] = 1.0 - survival
        slope[:, columns] = by_raised * a * raised / x
        return warped, slope, (by_raised * raised * a * log_x, -survival * b * log_rest)
