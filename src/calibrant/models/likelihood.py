"""How probable hyper-parameters are, and the search for the most probable ones.

``theta`` is the vector of all of them, as a :class:`~calibrant.models.hyperparameters.Layout` says.
Outcomes ``v`` are in the model's units, with mean 0 and variance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from calibrant.core.descent import descend
from calibrant.core.normal import LOG_SQRT_2PI
from calibrant.core.typing import FloatArray
from calibrant.models.hyperparameters import Hyperparameters, Layout
from calibrant.models.kernels.base import Kernel

_BOUNDS = {  # of the parameters themselves; standardised outcomes on the unit cube
    "lengthscale": (5e-3, 1e2),
    "effect": (5e-3, 1e2),
    "odds": (1e-3, 1e3),
    "period": (5e-2, 1e2),
    "signal": (1e-3, 1e3),
    "noise": (1e-8, 1e1),  # below 1e-8 the Cholesky factor of clustered points loses its digits
    "warp": (1e-1, 1e1),
    "trust": (1e-4, 1e4),  # what is known may explain all but a hundredth, or nothing
}
# Of a parameter that only somebody's own kernel has: bounds, and the belief about it.
_OWN_BOUNDS, _OWN_BELIEF = (1e-3, 1e3), (1.0, 1.5)

_DESCENTS = 2  # from the most promising of a few starts
_ENOUGH = 250  # outcomes, spread over time, that tell a handful of hyper-parameters
_MANY = 20  # inputs: of more, effects cost so much that fewer outcomes have to tell

# Hyper-parameters are never needed to more digits than the outcomes can tell.
_DESCENT: Any = {"iterations": 25, "ftol": 1e-4, "gtol": 1e-3}


@dataclass(frozen=True)
class Priors:
    """Log-normal beliefs about hyper-parameters: medians, and standard deviations of the logarithm.

    The median lengthscale grows with √dim, as distances in the unit cube do; that of the effects of
    single inputs (:class:`~calibrant.models.Additive`) does not. An infinite standard deviation
    means no belief at all; the median is then only where a search for it starts.
    Parameters of other names, which a kernel of your own may have, are taken to be about 1.
    """

    lengthscale: tuple[float, float] = (0.5, 1.0)
    period: tuple[float, float] = (1.0, 1.0)
    signal: tuple[float, float] = (1.0, 1.0)
    noise: tuple[float, float] = (1e-4, 2.0)
    effect: tuple[float, float] = (0.5, 1.0)
    odds: tuple[float, float] = (1.0, 1.5)  # of effects against the whole
    warp: tuple[float, float] = (1.0, 0.75**0.5)  # a and b of warped inputs; 1 is no warping
    trust: tuple[float, float] = (1.0, 2.0)  # in known functions, against the rest

    @classmethod
    def flat(cls) -> Priors:
        """Return no beliefs except about warps, which a handful of outcomes would bend at will."""
        believed = asdict(cls())
        unsure = {name: (median, np.inf) for name, (median, _) in believed.items()}
        return cls(**{**unsure, "warp": believed["warp"]})

    def of(self, name: str, dim: int) -> tuple[float, float]:
        """Return mean and standard deviation of the logarithm of a parameter."""
        kind = _kind(name)
        median, width = getattr(self, kind, _OWN_BELIEF)
        return float(np.log(median * (np.sqrt(dim) if kind == "lengthscale" else 1.0))), width


def negative_log_posterior(
    kernel: Kernel,
    X: FloatArray,
    v: FloatArray,
    noise: FloatArray | None,
    priors: Priors | None,
    learns: bool = False,
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the function theta → (−log p(v | theta) − log p(theta), its gradient).

    Args:
        kernel: the correlation function.
        X: inputs (n, d).
        v: outcomes (n,).
        noise: known noise variances (n,), or None where one is learned.
        priors: beliefs about theta, or None for the likelihood alone.
        learns: whether a noise is learned that adds to what is known.
    """
    joint = negative_log_joint(kernel, X, noise, priors, learns)

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = joint(theta, v)
        return value, gradient

    return evaluate


def negative_log_joint(
    kernel: Kernel,
    X: FloatArray,
    noise: FloatArray | None,
    priors: Priors | None,
    learns: bool = False,
) -> Callable[[FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]]:
    """Return the same function of theta and v, with its gradients by theta and by v."""
    n, dim = X.shape
    correlation = kernel.on_itself(X)
    learns = learns or noise is None
    known = 0.0 if noise is None else noise
    layout = Layout.of(kernel, dim, learns)
    beliefs = ((priors or Priors()).of(name, dim) for name in layout.names)
    centre, width = (np.array(part) for part in zip(*beliefs, strict=True))
    diagonal = slice(None, None, n + 1)  # of a matrix as one row

    def evaluate(theta: FloatArray, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        parameters = layout.split(theta)
        signal = parameters.signal
        learned = parameters.noise if learns else 0.0
        C, pullback = correlation(parameters.kernel)
        K = signal * C
        K.reshape(-1)[diagonal] += learned + known
        factor, failed = dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
        if failed:  # not positive definite to working precision: no place to be
            return 1e25, np.zeros_like(theta), np.zeros_like(v)
        alpha, _ = dpotrs(factor, v, lower=1)
        explained = v.dot(alpha)
        value = 0.5 * explained + np.log(factor.diagonal()).sum() + n * LOG_SQRT_2PI
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # LAPACK fills one triangle
        inverse.T.reshape(-1)[diagonal] *= 0.5
        by_K = inverse.T + inverse
        by_K -= alpha[:, None] * alpha
        by_K *= 0.5
        # Of Σ by_K K, whose value is known, noise has the diagonal, and the signal all the rest.
        by_each = (learned + known) * by_K.diagonal()
        by_signal = 0.5 * (n - explained) - by_each.sum()
        by_noise = learned * by_K.trace() if learns else None
        gradient = layout.join(Hyperparameters(pullback(by_K) * signal, by_signal, by_noise))
        if priors is not None:
            z = (theta - centre) / width
            value += 0.5 * z.dot(z)
            z /= width
            gradient += z
        return float(value), gradient, alpha

    return evaluate


def most_probable(
    kernel: Kernel,
    X: FloatArray,
    v: FloatArray,
    noise: FloatArray | None,
    priors: Priors | None,
    warm: FloatArray | None = None,
    learns: bool = False,
) -> FloatArray:
    """Return the hyper-parameters of highest posterior density, or likelihood without priors.

    Without ``warm``, a previous answer, the most promising of a few settings (short and long
    lengthscales, little and much noise) start two descents; from it, one is enough.
    """
    some = enough(v.size, X.shape[1])
    X, v, noise = X[some], v[some], None if noise is None else noise[some]
    names = Layout.of(kernel, X.shape[1], learns or noise is None).names
    loss = negative_log_posterior(kernel, X, v, noise, priors, learns)
    low, high = np.array(log_bounds(names)).T
    centre = np.array([(priors or Priors()).of(name, X.shape[1])[0] for name in names])
    if warm is not None:
        found = [descend(loss, np.clip(warm, low, high), low, high, **_DESCENT)]
    else:
        starts = []
        for length, added in ((1.0, 1.0), (0.4, 1.0), (2.5, 1.0), (1.0, 100.0)):
            shift = {"lengthscale": np.log(length), "noise": np.log(added)}
            moved = centre + [shift.get(_kind(name), 0.0) for name in names]
            start = np.clip(moved, low, high)
            starts.append((start, loss(start)))
        starts.sort(key=lambda known: known[1][0])
        found = [
            descend(loss, start, low, high, known=known, **_DESCENT)
            for start, known in starts[:_DESCENTS]
        ]
    return min(found, key=lambda end: end.value).x


def enough(count: int, dim: int = 1) -> slice | NDArray[np.intp]:
    """Return which of so many outcomes tell the hyper-parameters: all, or some over all time.

    The work of a fit grows with the square of their number, times the inputs.
    """
    most = int(_ENOUGH * min(1.0, np.sqrt(_MANY / dim)))
    if count <= most:
        return slice(None)
    return np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def log_bounds(names: list[str]) -> list[tuple[float, float]]:
    """Return between which logarithms each parameter is looked for."""
    return [(float(np.log(low)), float(np.log(high))) for low, high in map(_bounds, names)]


def _bounds(name: str) -> tuple[float, float]:
    return _BOUNDS.get(_kind(name), _OWN_BOUNDS)


def _kind(name: str) -> str:
    for kind in ("lengthscale", "warp", "trust"):
        if name.startswith(kind):
            return kind
    return name
