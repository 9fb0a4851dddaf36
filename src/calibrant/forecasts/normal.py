"""Gaussian forecasts and Gaussian mixtures, with all expectations in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from calibrant.core import validate
from calibrant.core.normal import (
    density,
    hinge,
    log_hinge,
    mean_absolute,
    mixture_at_score,
    mixture_score,
    standardised,
)
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast


class Normal(Forecast):
    """Gaussian forecasts N(mean, std²), one per point.

    >>> from calibrant import Normal
    >>> low, high = Normal(mean=[0.0, 2.0], std=[1.0, 0.5]).interval(0.8)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-1.28, 1.36], [1.28, 2.64])

    Args:
        mean: a number per point, or a single one.
        std: the standard deviations, above zero; broadcast against ``mean``.
    """

    def __init__(self, mean: ArrayLike, std: ArrayLike) -> None:
        self._mean, self._std = _broadcast(
            mean=validate.finite("mean", mean), std=validate.positive("std", std)
        )

    def __repr__(self) -> str:
        return f"Normal(mean={self._mean}, std={self._std})"

    @property
    def batch(self) -> tuple[int, ...]:
        return self._mean.shape

    def __getitem__(self, index: Any) -> Normal:
        return Normal(self._mean[index], self._std[index])

    def score(self, y: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # with a tiny std the score may overflow to infinity
            return np.asarray((validate.as_floats("y", y) - self._mean) / self._std)

    def at_score(self, z: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # outcomes beyond the largest float become infinite
            return np.asarray(self._mean + self._std * np.asarray(z, dtype=float))

    def pdf(self, y: ArrayLike) -> FloatArray:
        return density(self.score(y)) / self._std

    def mean(self) -> FloatArray:
        return self._mean

    def std(self) -> FloatArray:
        return self._std

    def crps(self, y: ArrayLike) -> FloatArray:
        # E|Y − y| − ½ E|Y − Y'|, and Y − Y' ~ N(0, 2·std²)
        spread = self._std / np.sqrt(np.pi)
        return np.asarray(mean_absolute(validate.finite("y", y) - self._mean, self._std) - spread)

    def shortfall(self, v: ArrayLike) -> FloatArray:
        return self._std * hinge(self.score(v))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        return np.log(self._std) + log_hinge(self.score(v))


class Mixture(Forecast):
    """Mixtures of normal distributions, one mixture per point.

    >>> from calibrant import Mixture
    >>> mixture = Mixture(weights=[0.3, 0.7], means=[[0.0, 2.0]], stds=[[1.0, 0.5]])
    >>> mixture.quantile(0.5).round(2).tolist()
    [1.74]

    The last axis of each argument runs over the components.

    Args:
        weights: of the components, not negative; they need not add up to one.
        means: of the components, shape ``(n, k)`` for n points and k components.
        stds: of the components, above zero.
    """

    def __init__(self, weights: ArrayLike, means: ArrayLike, stds: ArrayLike) -> None:
        weights = validate.finite("weights", weights)
        if np.any(weights < 0.0) or np.any(weights.sum(axis=-1) <= 0.0):
            raise ValueError("`weights` must be non-negative with a positive sum.")
        self._weights, self._means, self._stds = _broadcast(
            weights=weights,
            means=validate.finite("means", means),
            stds=validate.positive("stds", stds),
        )
        if self._means.ndim == 0:
            raise ValueError(
                "`means` must have a last axis of components, but got a single number; "
                "use `Normal` for one component."
            )
        with np.errstate(divide="ignore"):  # a component of weight zero has log-weight −inf
            self._log_weights = np.log(self._weights / self._weights.sum(axis=-1, keepdims=True))

    def __repr__(self) -> str:
        return f"Mixture(batch={self.batch}, components={self._means.shape[-1]})"

    @property
    def weights(self) -> FloatArray:
        """The components' probabilities, summing to one."""
        return np.asarray(np.exp(self._log_weights))

    @property
    def means(self) -> FloatArray:
        """The components' means."""
        return self._means

    @property
    def stds(self) -> FloatArray:
        """The components' standard deviations."""
        return self._stds

    @property
    def batch(self) -> tuple[int, ...]:
        return self._means.shape[:-1]

    def __getitem__(self, index: Any) -> Mixture:
        return Mixture(self._weights[index], self._means[index], self._stds[index])

    def score(self, y: ArrayLike) -> FloatArray:
        y = validate.as_floats("y", y)
        score = mixture_score(y, self._log_weights, self._means, self._stds)
        return np.where(np.isinf(y), y, score)

    def at_score(self, z: ArrayLike) -> FloatArray:
        z = np.asarray(z, dtype=float)
        return mixture_at_score(z, self._log_weights, self._means, self._stds)

    def pdf(self, y: ArrayLike) -> FloatArray:
        return np.asarray((self.weights * density(self._standardised(y)) / self._stds).sum(axis=-1))

    def mean(self) -> FloatArray:
        return np.asarray((self.weights * self._means).sum(axis=-1))

    def std(self) -> FloatArray:
        distance = np.hypot(self._stds, self._means - self.mean()[..., None])
        largest = distance.max(axis=-1, keepdims=True)  # so that no square under- or overflows
        share = (self.weights * (distance / largest) ** 2).sum(axis=-1)
        return np.asarray(largest[..., 0] * np.sqrt(share))

    def crps(self, y: ArrayLike) -> FloatArray:
        # E|Y − y| − ½ E|Y − Y'|; the difference of two components is normal too.
        to_outcome = mean_absolute(validate.finite("y", y)[..., None] - self._means, self._stds)
        between = self._means[..., :, None] - self._means[..., None, :]
        spread = np.hypot(self._stds[..., :, None], self._stds[..., None, :])
        pairs = self.weights[..., :, None] * self.weights[..., None, :]
        return np.asarray(
            (self.weights * to_outcome).sum(axis=-1)
            - 0.5 * (pairs * mean_absolute(between, spread)).sum(axis=(-1, -2))
        )

    def shortfall(self, v: ArrayLike) -> FloatArray:
        return np.asarray((self.weights * self._stds * hinge(self._standardised(v))).sum(axis=-1))

    def log_shortfall(self, v: ArrayLike) -> FloatArray:
        terms = self._log_weights + np.log(self._stds) + log_hinge(self._standardised(v))
        return np.asarray(logsumexp(terms, axis=-1))

    def _standardised(self, y: ArrayLike) -> FloatArray:
        return standardised(validate.as_floats("y", y)[..., None], self._means, self._stds)


def _broadcast(**arrays: FloatArray) -> list[FloatArray]:
    try:
        broadcast = np.broadcast_arrays(*arrays.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"Shapes must agree, but got {shapes}.") from error
    return [validate.frozen(array) for array in broadcast]  # read-only copies: forecasts are values


STANDARD_NORMAL = Normal(0.0, 1.0)  # the distribution of a calibrated model's scores
