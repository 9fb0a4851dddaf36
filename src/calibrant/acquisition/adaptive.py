"""A-GP-UCB (Berkenkamp, Schoellig and Krause 2019): a bound that shrinks fitted lengthscales.

From "No-Regret Bayesian Optimization with Unknown Hyperparameters". A search that fits lengthscales
to its own points may find them too long, stop exploring and never correct them. Dividing them by a
slowly growing g(t) admits ever rougher functions, until the true one is among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibrant.acquisition.base import Acquisition, Belief, Criterion, process_of
from calibrant.core import validate
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.models.fitted_gp import FittedGP, inverse_factor


@dataclass(frozen=True)
class AdaptiveBound(Acquisition):
    """A-GP-UCB (Berkenkamp et al. 2019), for minimisation: minus the bound mean − √β·std.

    The lengthscales of the process are divided by g(t) = t^growth, where t is the number of
    outcomes, including those imputed for failed and running points, and

        √β = norm + 4·σ·√(gain + 1 + ln(1/delta))

    with the standard deviation σ of the noise and the information gain of the outcomes so far
    under the shrunken kernel. In the paper the norm grows too: with lengthscales divided by g, the
    squared norm of a function may be g^d times as large. In ten dimensions that multiplies the norm
    by 70 after 30 outcomes, and the search only explores; so the norm stays constant unless
    ``grow_norm`` is set.

    The bound has its own confidence factor, so ``belief.residual`` is ignored.

    Args:
        growth: the exponent of g(t); 0 leaves the lengthscales as fitted.
        norm: a bound on the norm of the function in the kernel's function space (RKHS).
        delta: the probability with which the bound may fail.
        grow_norm: whether the norm is multiplied by g(t)^(d/2).
    """

    growth: float = 0.25
    norm: float = 2.0
    delta: float = 0.1
    grow_norm: bool = False

    def __post_init__(self) -> None:
        validate.not_negative("growth", self.growth)
        validate.not_negative("norm", self.norm)
        if not 0.0 < self.delta < 1.0:
            raise ValueError(
                f"`0 < delta < 1` must hold, but got delta={self.delta}; "
                "it is the probability that the bound fails, 0.1 by default."
            )

    def criterion(self, belief: Belief, rng: np.random.Generator, cube: Cube) -> Criterion:
        fitted = process_of(belief, self)
        shrunk = shrink(fitted, self.shrinkage(fitted))
        factor = self.factor(shrunk)

        def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
            mean, std, pullback = shrunk.posterior(X)
            by_mean, by_std = np.full_like(mean, -1.0), np.full_like(std, factor)
            return factor * std - mean, lambda: pullback(by_mean, by_std)

        return evaluate

    def shrinkage(self, fitted: FittedGP) -> float:
        """Return g(t), the divisor of the lengthscales."""
        return float(fitted.v.size**self.growth)

    def factor(self, shrunk: FittedGP) -> float:
        """Return √β, the weight of the std in the bound."""
        norm = self.norm
        if self.grow_norm:
            norm *= self.shrinkage(shrunk) ** (0.5 * shrunk.X.shape[1])
        noise = float(np.sqrt(shrunk.noise_variance.mean()))
        gain = information_gain(shrunk)
        return float(norm + 4.0 * noise * np.sqrt(gain + 1.0 - np.log(self.delta)))


def shrink(fitted: FittedGP, shrinkage: float) -> FittedGP:
    """Return the process with the same outcomes and all lengthscales divided by ``shrinkage``."""
    if shrinkage == 1.0:
        return fitted
    kernel = fitted.model.kernel
    names = kernel.parameter_names(fitted.X.shape[1])
    own = fitted.parameters.kernel.copy()
    lengths = [i for i, name in enumerate(names) if name.startswith(("lengthscale", "effect"))]
    own[lengths] -= np.log(shrinkage)
    C, _ = kernel.on_itself(fitted.X)(own)
    K = fitted.signal_variance * C + np.diag(fitted.noise_variance)
    parameters = fitted.parameters._replace(kernel=own)
    return replace(fitted, parameters=parameters, W=inverse_factor(K, float(K[0, 0])))


def information_gain(fitted: FittedGP) -> float:
    """Return the information gain ½ log det(I + K/σ²) of the outcomes, with K free of noise.

    With the factor W of (K + noise)⁻¹ it is −Σ log W_ii − ½ Σ log noise_i, which also holds if the
    noise differs from outcome to outcome.
    """
    gain = -np.log(np.diag(fitted.W)).sum() - 0.5 * np.log(fitted.noise_variance).sum()
    return float(max(0.0, gain))
