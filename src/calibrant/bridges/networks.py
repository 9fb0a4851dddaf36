"""Neural networks as forecasting models. Needs torch (``pip install torch``).

Two ways to give a network uncertainty about what it has not seen: deep ensembles, several networks
that disagree (:class:`DeepEnsemble`, Lakshminarayanan et al. 2017), or DNGO, one network whose last
layer is a Bayesian linear regression (:class:`BayesianLastLayer`, Snoek et al. 2015), which has
gradients. Both have leave-one-out scores.

Given the last hidden layer h, and outcomes v in the model's units, the regression is

    features       φ(x) = (1, h(x)), the rows of Φ
    belief         v = Φw + ε,  w ~ N(0, signal·I),  ε ~ N(0, noise·I)
    weights        w | v ~ N(A⁻¹Φᵀv/noise, A⁻¹),  A = ΦᵀΦ/noise + I/signal
    leave-one-out  error (v − Hv)ᵢ/(1 − Hᵢᵢ), variance noise/(1 − Hᵢᵢ),  H = ΦA⁻¹Φᵀ/noise
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.bridges.training import (
    Layers,
    Networks,
    hidden_layer,
    last_layer,
    points,
    tensor,
    torch,
)
from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import mapped
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, fit_map
from calibrant.models.fitted_gp import factor, inverse_factor
from calibrant.models.likelihood import Priors
from calibrant.models.protocol import Posterior

_LEAST_VARIANCE = 1e-3  # of a member: without it the likelihood is unbounded at an outcome
_RATIOS = np.geomspace(1e-6, 10.0, 200)  # of noise to signal; between two the evidence is flat
_PARTS = 5  # folds of the outcomes for leave-one-out scores; each network does not see one
_EXACT = 1e-6  # share of the signal variance that counts as no noise, for exact function values


@dataclass(frozen=True, kw_only=True)
class DeepEnsemble(Networks):
    """A deep ensemble (Lakshminarayanan et al. 2017): networks trained from different starts.

    "Simple and scalable predictive uncertainty estimation using deep ensembles". Each member
    forecasts a Gaussian, with its own mean and variance. It is too sure of what it has not seen;
    in short searches expected improvement does better without recalibration all the same
    (``recalibrator=None``; benchmarks/models).

    Args:
        members: the number of networks.
        hidden: widths of the hidden layers.
        frequency: how fast functions vary across the cube before training; 1 is smooth.
        steps: training steps, each on all outcomes or 1,024 of them.
        rate: the learning rate, which falls linearly to zero.
        decay: the weight decay, as a factor of the learning rate.
        outputs: the output map: "yeo-johnson", "box-cox", "log" or "standardise", or a map that is
            already fitted.
        seed: of all random numbers; the same outcomes give the same ensemble.
        device: where torch computes: "cpu", or "cuda" for a GPU.
    """

    members: int = 5
    hidden: tuple[int, ...] = (50, 50)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.at_least("members", self.members, 2)

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedEnsemble:
        """Return the ensemble fitted to outcomes y at the rows of X."""
        X, y = validate.training_data(X, y)
        outputs = fit_map(self.outputs, y)
        v = outputs(y)
        layers = self._ensemble(X, v, np.ones((self.members, y.size), dtype=bool))
        return FittedEnsemble(self, layers, outputs, X, v)

    def _ensemble(self, X: FloatArray, v: FloatArray, seen: np.ndarray) -> Layers:
        def loss(out: Any, v: Any) -> Any:
            mean, variance = _gaussians(out)
            return 0.5 * (variance.log() + (v - mean) ** 2 / variance)

        return self.trained(X, v, 2, loss, seen)


@dataclass(frozen=True)
class FittedEnsemble:
    """A deep ensemble after ``fit``."""

    model: DeepEnsemble
    layers: Layers
    outputs: MonotoneMap
    X: FloatArray  # (n, d)
    v: FloatArray  # (n,)

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the Gaussian with the mixture's mean and variance, noise included."""
        mean, std = _mixed(*self.members(X))
        return mapped(Normal(mean, std), self.outputs)

    def members(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the means and variances of each member, (members, m), in the model's units."""
        return _members(self.layers, X)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y)."""
        return self.outputs(y)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome under an ensemble that has not seen it.

        There is one ensemble per fifth of the outcomes, and all are trained at once.
        """
        part, size = np.arange(self.v.size) % _PARTS, self.model.members
        seen = np.repeat(part != np.arange(_PARTS)[:, None], size, axis=0)
        means, variances = _members(self.model._ensemble(self.X, self.v, seen), self.X)
        scores, stds = np.empty((2, self.v.size))
        for k in range(_PARTS):
            own, ensemble = part == k, slice(k * size, (k + 1) * size)
            mean, stds[own] = _mixed(means[ensemble, own], variances[ensemble, own])
            scores[own] = (self.v[own] - mean) / stds[own]
        return scores, stds


def _members(layers: Layers, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
    with torch.no_grad():
        mean, variance = _gaussians(last_layer(layers, points(layers, X)))
        return mean.cpu().numpy(), variance.cpu().numpy()


def _mixed(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and std of the mixture of members."""
    return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))


@dataclass(frozen=True, kw_only=True)
class BayesianLastLayer(Networks):
    """DNGO (Snoek et al. 2015): a network whose last layer is a Bayesian linear regression.

    "Scalable Bayesian optimization using deep neural networks". The network is trained by least
    squares; then its last layer is replaced by the regression, whose weight and noise variances are
    the most probable ones (MAP).

    Args:
        hidden: widths of the hidden layers; the last is the number of features.
        frequency: how fast functions vary across the cube before training; 1 is smooth.
        steps: training steps, each on all outcomes or 1,024 of them.
        rate: the learning rate, which falls linearly to zero.
        decay: the weight decay, as a factor of the learning rate.
        outputs: the output map: "yeo-johnson", "box-cox", "log" or "standardise", or a map that is
            already fitted.
        seed: of all random numbers; the same outcomes give the same network.
        device: where torch computes: "cpu", or "cuda" for a GPU.
    """

    hidden: tuple[int, ...] = (100, 100)

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedLastLayer:
        """Return the network fitted to outcomes y at the rows of X."""
        X, y = validate.training_data(X, y)
        outputs = fit_map(self.outputs, y)
        v = outputs(y)
        layers = self._network(X, v, np.ones((1, y.size), dtype=bool))
        Phi = _features(layers, X)[0]
        return FittedLastLayer(self, layers, outputs, X, v, Phi, *_most_probable(Phi, v))

    def _network(self, X: FloatArray, v: FloatArray, seen: np.ndarray) -> Layers:
        return self.trained(X, v, 1, lambda out, v: (out[..., 0] - v) ** 2, seen)


@dataclass(frozen=True)
class FittedLastLayer:
    """A Bayesian linear regression on the features of a network."""

    model: BayesianLastLayer
    layers: Layers
    outputs: MonotoneMap
    X: FloatArray  # (n, d)
    v: FloatArray  # (n,)
    Phi: FloatArray  # (n, p)
    signal: float
    noise: float
    W: FloatArray = field(init=False)  # (p, p), A⁻¹ = WᵀW
    weights: FloatArray = field(init=False)  # (p,), their mean

    def __post_init__(self) -> None:
        A = self.Phi.T @ self.Phi / self.noise
        A.flat[:: A.shape[0] + 1] += 1.0 / self.signal
        W = inverse_factor(A, 1.0 / self.signal)
        object.__setattr__(self, "W", W)
        object.__setattr__(self, "weights", W.T @ (W @ (self.Phi.T @ self.v)) / self.noise)

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        mean, std, _ = self.posterior(X)
        return mapped(Normal(mean, np.sqrt(std**2 + self.noise)), self.outputs)

    def posterior(self, X: ArrayLike) -> Posterior:
        """Return mean and std of the function, without noise, in the model's units."""
        X = validate.finite("X", X).copy()  # the caller may overwrite it before the pullback
        phi = _features(self.layers, X)[0]
        spread = phi @ self.W.T
        std = np.sqrt(np.einsum("ij,ij->i", spread, spread))

        def pullback(by_mean: FloatArray, by_std: FloatArray) -> FloatArray:
            by_phi = by_mean[:, None] * self.weights + (by_std / std)[:, None] * (spread @ self.W)
            with torch.inference_mode(False), torch.enable_grad():
                x = points(self.layers, X).requires_grad_()
                h = hidden_layer(self.layers, x)
                (by_x,) = torch.autograd.grad(h, x, tensor(by_phi[None, :, 1:], h.device))
                return np.asarray(by_x.cpu().numpy())

        return Posterior(phi @ self.weights, std, pullback)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y)."""
        return self.outputs(y)

    def means(self) -> FloatArray:
        """Return the posterior means at the inputs fitted, in the model's units."""
        return np.asarray(self.Phi @ self.weights)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Return score and std of each outcome given all others, with unchanged signal and noise.

        Features trained on an outcome forecast it too well: scores of new outcomes would be twice
        as large. So the features come from other networks, which have not seen the outcome.
        """
        part = np.arange(self.v.size) % _PARTS
        layers = self.model._network(self.X, self.v, part != np.arange(_PARTS)[:, None])
        scores, stds = np.empty((2, self.v.size))
        for k, Phi in enumerate(_features(layers, self.X)):
            known = replace(self, Phi=Phi)
            spread = Phi @ known.W.T
            free = 1.0 - np.einsum("ij,ij->i", spread, spread) / self.noise  # 1 − Hᵢᵢ
            own = part == k
            stds[own] = np.sqrt(self.noise / free[own])
            scores[own] = (self.v - known.means())[own] / (free * stds)[own]
        return scores, stds

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedLastLayer:
        """Return the belief conditioned on ``values`` at X, in the model's units.

        By default the values are the belief's own means. They count as outcomes with the model's
        noise, or with noise of the given ``std``; with 0 they are exact values of the function.
        """
        if X.shape[0] == 0:
            return self
        phi = _features(self.layers, X)[0]
        values = phi @ self.weights if values is None else values
        # Multiplying a row and its value by k divides its noise std by k.
        larger = np.ones(X.shape[0])
        if std is not None:
            least = min(self.noise, _EXACT * self.signal)
            larger *= np.sqrt(self.noise / np.maximum(np.square(std), least))
        return replace(
            self,
            X=np.vstack([self.X, X]),
            v=np.concatenate([self.v, larger * values]),
            Phi=np.vstack([self.Phi, larger[:, None] * phi]),
        )

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``."""
        phi = _features(self.layers, X)[0]
        spread = phi @ self.W.T
        return np.asarray(phi @ self.weights + factor(spread @ spread.T, self.signal) @ seed_scores)


def _most_probable(Phi: FloatArray, v: FloatArray) -> tuple[float, float]:
    """Return the most probable (MAP) variances of signal and noise.

    The evidence is v ~ N(0, signal·ΦΦᵀ + noise·I). Given the ratio of noise to the function's mean
    variance ``size``·signal, the best signal has a closed form. The prior of the ratio is that of a
    Gaussian process, which favours little noise. The prior of the variance is one
    pseudo-observation of variance 1; without it, equal outcomes would give a variance of 0.
    """
    median, width = Priors().noise
    size = float(np.einsum("ij,ij->i", Phi, Phi).mean())
    U, s, _ = np.linalg.svd(Phi, full_matrices=False)
    along = U.T @ v
    rest = v - U @ along
    variances = s**2 / size + _RATIOS[:, None]
    squares = 1.0 + (along**2 / variances).sum(axis=1) + rest @ rest / _RATIOS
    variance = squares / (v.size + 1)
    logdet = np.log(variances).sum(axis=1) + (v.size - s.size) * np.log(_RATIOS)
    doubt = (np.log(_RATIOS / median) / width) ** 2
    best = np.argmin((v.size + 1) * np.log(variance) + logdet + doubt)
    return float(variance[best] / size), float(variance[best] * _RATIOS[best])


def _gaussians(out: Any) -> tuple[Any, Any]:
    """Return means and variances of the members, each (members, n)."""
    mean, raw = out.unbind(-1)
    return mean, torch.nn.functional.softplus(raw) + _LEAST_VARIANCE


def _features(layers: Layers, X: ArrayLike) -> FloatArray:
    """Return the features of each network, a 1 and its last hidden layer, (members, n, p)."""
    with torch.no_grad():
        h = hidden_layer(layers, points(layers, X)).cpu().numpy()
    return np.concatenate([np.ones((*h.shape[:2], 1)), h], axis=2)
