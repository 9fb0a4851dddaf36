"""A Gaussian process given outcomes: posterior, scores, and what more outcomes make of it.

Everything is read off the inverse Cholesky factor ``W = L⁻¹`` of ``K = signal·C + noise``, with
``LLᵀ = K``: it grows by rows when outcomes are added (n² work, where a new factor takes n³), and

    weights        α = Wᵀ(W v)
    posterior      mean = kᵀα,  variance = signal·C(x, x) − |W k|²
    leave-one-out  z_i = α_i / √(K⁻¹)_ii,  (K⁻¹)_ii = Σ_j W_ji²
    one step ahead z = W v
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import mapped
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.output_maps.power import MonotoneMap
from calibrant.models.hyperparameters import Hyperparameters, Layout
from calibrant.models.kernels.base import WithInputs
from calibrant.models.noise import checked_stds, in_model_units, nearby
from calibrant.models.protocol import Posterior

if TYPE_CHECKING:
    from calibrant.models.gp import GaussianProcess

# Hyper-parameters and output map are fitted again when the number of outcomes has grown by this
# share since last time: at each step up to 20 outcomes, every tenth at 200.
_REFIT_GROWTH = 0.05

# Up to so many outcomes, hyper-parameters are looked for afresh: there are several hills, and a
# search that continues from its last ones is stuck with what it believed early on.
_FORGETFUL = 100

_SMALLEST_VARIANCE = 1e-12  # of the signal's: rounding may make a variance negative
_MANY_ROWS = 16  # from as many on, a product with a triangle is faster than one with a square
_EXACT = 1e-6  # of the signal's: as little noise as lets a draw at many points be gone through


class Covariances(NamedTuple):
    """The part of a posterior at m points that does not depend on the n outcomes."""

    with_inputs: FloatArray  # (m, n), of the function at the points with that at the inputs fitted
    std: FloatArray  # (m,)
    # (∂loss/∂with_inputs, ∂loss/∂std) -> ∂loss/∂x, (m, d)
    pullback: Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class FittedGP:
    """A Gaussian process given outcomes: the belief about a function."""

    model: GaussianProcess
    parameters: Hyperparameters
    outputs: MonotoneMap
    X: FloatArray
    v: FloatArray
    noise_variance: FloatArray  # (n,)
    W: FloatArray  # (n, n), inverse Cholesky factor
    fitted_at: int  # how many outcomes there were when parameters were fitted
    # (n,) of each outcome's own noise, in the units of y: NaN where it is not known.
    stds: FloatArray | None = None
    whitened: FloatArray = field(init=False)  # W v
    alpha: FloatArray = field(init=False)  # K⁻¹ v

    def __post_init__(self) -> None:
        whitened = self.W @ self.v
        object.__setattr__(self, "whitened", whitened)
        object.__setattr__(self, "alpha", whitened @ self.W)

    def __getstate__(self) -> dict[str, Any]:
        # A function that belongs to the inputs; it is made again.
        return {name: value for name, value in self.__dict__.items() if name != "_correlations"}

    @cached_property
    def _correlations(self) -> WithInputs:
        return self.model.kernel.with_inputs(self.parameters.kernel, self.X)

    @property
    def theta(self) -> FloatArray:
        """The logarithms of all hyper-parameters, as :meth:`GaussianProcess.at` takes them."""
        names = tuple(self.model.kernel.parameter_names(self.X.shape[1]))
        return Layout(names, self._learned_noise).join(self.parameters)

    @cached_property
    def signal_variance(self) -> float:
        """The prior variance of the function, in the model's units."""
        return self.parameters.signal

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        points = self.points(X)
        belief = self.posterior(points)
        noise = self.noise_around(belief.mean, points)
        return mapped(Normal(belief.mean, np.sqrt(belief.std**2 + noise)), self.outputs)

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the function, without noise, in the model's units."""
        k, std, to_inputs = self.covariances(X)
        return Posterior(
            k @ self.alpha,
            std,
            lambda by_mean, by_std: to_inputs(by_mean[:, None] * self.alpha, by_std),
        )

    def covariances(self, X: FloatArray) -> Covariances:
        """Return what a posterior at X is made of, whatever the outcomes are."""
        signal = self.signal_variance
        C, to_inputs = self._correlations(X)
        k = signal * C
        own, own_gradient = self.model.kernel.diagonal(self.parameters.kernel, X)
        projected = _projected(k, self.W)
        variance = signal * own - np.einsum("ij,ij->i", projected, projected)
        std = np.sqrt(np.maximum(variance, _SMALLEST_VARIANCE * signal))

        def pullback(by_k: FloatArray, by_std: FloatArray) -> FloatArray:
            by_variance = (0.5 * by_std / std)[:, None]
            by_k = by_k - 2.0 * by_variance * (projected @ self.W)
            return np.asarray(signal * (to_inputs(by_k) + by_variance * own_gradient))

        return Covariances(k, std, pullback)

    def shares(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return how much of the prior std is left at X, and how much of what is left is noise.

        The first is that of an outcome, noise included, and at most 1.
        """
        points = self.points(X)
        belief = self.posterior(points)
        own, _ = self.model.kernel.diagonal(self.parameters.kernel, points)
        noise = self.noise_around(belief.mean, points)
        left = belief.std**2 + noise
        share = np.sqrt(np.minimum(left / (self.signal_variance * own), 1.0))
        return share, np.sqrt(noise / left)

    def gradients(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives by X of posterior mean and std, each of shape (m, d)."""
        X = self.points(X)
        one, zero = np.ones(X.shape[0]), np.zeros(X.shape[0])
        pullback = self.posterior(X).pullback
        return pullback(one, zero), pullback(zero, one)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y)."""
        return self.outputs(y)

    def means(self) -> FloatArray:
        """Return the posterior means at the inputs fitted, in the model's units."""
        return self.v - self.noise_variance * self.alpha  # K α = v, without the noise

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome given all others, hyper-parameters as they are."""
        stds = 1.0 / np.sqrt(np.einsum("ji,ji->i", self.W, self.W))
        return self.alpha * stds, stds

    def one_step_ahead_scores(self) -> FloatArray:
        """Return the score of each outcome given the earlier ones, hyper-parameters as they are."""
        return self.whitened

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedGP:
        """Return the belief after ``values`` in the model's units; by default its own means.

        They are outcomes, with noise; or, where ``std`` says how far they may be from the
        function, more or less sure than that. At 0 they are the function's own.
        """
        if X.shape[0] == 0:
            return self
        values = self.posterior(X).mean if values is None else values
        if std is None:
            noise = self.noise_around(values, X)
        else:
            least = _EXACT * self.signal_variance
            noise = np.broadcast_to(np.maximum(np.square(std), least), values.shape)
        return self.appended(X, values, noise)

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, made of standard normal ``seed_scores``."""
        mean, covariance = self.joint(X)
        return np.asarray(mean + factor(covariance, self.signal_variance) @ seed_scores)

    def joint(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of the function at X, without noise, in the model's units."""
        kernel, theta, signal = self.model.kernel, self.parameters.kernel, self.signal_variance
        k = signal * self._correlations(X)[0]
        projected = k @ self.W.T
        return k @ self.alpha, signal * kernel.on_itself(X)(theta)[0] - projected @ projected.T

    def refit(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> FittedGP:
        """Return the process after more outcomes.

        Rows are appended to what is known; now and then, as their number grows, hyper-parameters
        and output map are fitted again.
        """
        X, y = validate.training_data(X, y)
        if self.X.shape[1] != X.shape[1]:
            raise ValueError(
                f"`X` must have {self.X.shape[1]} columns as before, but got shape {X.shape}."
            )
        stds = None if noise is None else checked_stds(noise, y)
        if stds is None and self._knows_stds:
            raise ValueError("The `noise` of each outcome was given before; give it again.")
        known = self.v.size
        v = self.outputs(y)
        goes_on = (
            y.size >= known
            and np.array_equal(X[:known], self.X)
            and _same(self.stds, None if stds is None else stds[:known])
        )
        if not goes_on or y.size > (1.0 + _REFIT_GROWTH) * self.fitted_at:
            return self.model._learned(X, y, stds, self if y.size > _FORGETFUL else None)
        if y.size == known:
            return replace(self, v=v)
        added = self.model._variances(y, stds, self.outputs, self.parameters)[known:]
        told = None if stds is None else stds[known:]
        return replace(self, v=v[:known]).appended(X[known:], v[known:], added, told)

    def appended(
        self, X: FloatArray, v: FloatArray, noise: FloatArray, stds: FloatArray | None = None
    ) -> FittedGP:
        """Return the process after values v at X with so much noise (variances).

        The factor grows by rows, it is not made anew. ``stds`` are of outcomes whose own noise is
        known; what is only imagined says nothing about the noise of others.
        """
        kernel, theta, signal = self.model.kernel, self.parameters.kernel, self.signal_variance
        projected = signal * self._correlations(X)[0] @ self.W.T  # (m, n)
        rest = signal * kernel.on_itself(X)(theta)[0] - projected @ projected.T
        rest.flat[:: v.size + 1] += noise
        corner = inverse_factor(rest, signal)
        known = self.v.size
        W = np.zeros((known + v.size, known + v.size))
        W[:known, :known] = self.W
        W[known:, :known] = -corner @ (projected @ self.W)
        W[known:, known:] = corner
        return replace(
            self,
            X=np.vstack([self.X, X]),
            v=np.concatenate([self.v, v]),
            noise_variance=np.concatenate([self.noise_variance, noise]),
            W=W,
            stds=None
            if self.stds is None
            else np.concatenate([self.stds, np.full(v.size, np.nan) if stds is None else stds]),
        )

    def points(self, X: ArrayLike) -> FloatArray:
        """Return points to forecast, of the shape (m, d) that they must have."""
        points = np.atleast_2d(validate.finite("X", X))
        if points.ndim != 2 or points.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"`X` must have {self.X.shape[1]} columns, but got shape {points.shape}."
            )
        return points

    def noise_around(self, v: FloatArray, X: FloatArray | None = None) -> FloatArray:
        """Return the variance of outcomes around values v of the function, in the model's units.

        Noise that was given is in the units of outcomes, so that it depends on where on the map
        they are. Where each outcome has its own, others are taken to have that of their neighbours.

        Args:
            v: values of the function, (m, …).
            X: where, (m, d); unless given, outcomes are taken to have the middle noise.
        """
        if self.model.noise is None and not self._knows_stds:
            return np.full(v.shape, self.parameters.noise)
        own = self.own_noise(X)
        std = np.hypot(self.model.noise or 0.0, own.reshape(own.shape + (1,) * (v.ndim - 1)))
        known = in_model_units(std, self.outputs, self.outputs.inverse(v))
        return known if self.model.noise is not None else self.parameters.noise + known

    def own_noise(self, X: FloatArray | None = None) -> FloatArray:
        """Return the std, in the units of y, of the noise that single outcomes have, (m,).

        Args:
            X: where, (m, d); unless given, one std that is the middle of those known.
        """
        if self.stds is None or not self._knows_stds:
            return np.zeros(1)
        if X is None:
            return np.atleast_1d(np.nanmedian(self.stds))
        return nearby(self.stds, self._correlations(X)[0])

    @property
    def _knows_stds(self) -> bool:
        return self.stds is not None and not bool(np.isnan(self.stds).all())

    @property
    def _learned_noise(self) -> bool:
        return self.parameters.log_noise is not None


def _same(before: FloatArray | None, now: FloatArray | None) -> bool:
    """Whether the same is known of the noise of outcomes; NaN is the same as NaN."""
    if before is None or now is None:
        return before is None and now is None
    return np.array_equal(before, now, equal_nan=True)


def _projected(k: FloatArray, W: FloatArray) -> FloatArray:
    """Return k Wᵀ. Of many rows it is half the work to know that W is a triangle."""
    if k.shape[0] < _MANY_ROWS:
        return np.asarray(k @ W.T)
    return np.asarray(dtrmm(1.0, W.T, k.T, trans_a=1).T)


def factor(K: FloatArray, scale: float) -> FloatArray:
    """Return the lower Cholesky factor; a matrix that has none gets the least jitter that helps.

    Jitter goes by the ``scale`` of a variance: what is left of one may be no more than rounding.
    """
    for jitter in (0.0, *(10.0 ** np.arange(-12.0, 1.0))):
        jittered = K.copy()
        jittered.flat[:: K.shape[0] + 1] += jitter * scale
        lower, failed = dpotrf(jittered, lower=1, clean=1, overwrite_a=1)
        if not failed:
            return np.asarray(lower)
    raise np.linalg.LinAlgError("A covariance matrix is not finite; are inputs of the order of 1?")


def inverse_factor(K: FloatArray, scale: float) -> FloatArray:
    """Return the inverse of that factor."""
    inverse, _ = dtrtri(factor(K, scale), lower=1, overwrite_c=1)
    return np.ascontiguousarray(inverse)
