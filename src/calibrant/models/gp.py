"""Gaussian-process regression on the unit cube, sized for Bayesian optimisation.

What it believes once it is fitted is in :mod:`calibrant.models.fitted_gp`.

=========  =====================================================
``X``      (n, d) inputs
``v``      (n,) outcomes in the model's units: v = g(y)
``theta``  log hyper-parameters, see :mod:`calibrant.models.hyperparameters`
=========  =====================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs, PowerMap, fit_map
from calibrant.forecasts.output_maps.tanh import TanhMap
from calibrant.models.fitted_gp import FittedGP, inverse_factor
from calibrant.models.hyperparameters import Hyperparameters, Layout
from calibrant.models.kernels.base import Kernel
from calibrant.models.kernels.stationary import Matern52
from calibrant.models.likelihood import (
    Priors,
    most_probable,
    negative_log_posterior,
)
from calibrant.models.noise import checked_stds, filled, in_model_units
from calibrant.models.output_map_fit import most_probable_warp


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process to be fitted.

    Args:
        kernel: the correlation function, from :mod:`calibrant.models.kernels.stationary`.
        outputs: the units to work in: "yeo-johnson", "box-cox", "log", "standardise", or "tanh",
            a warp learned together with the hyper-parameters. Or a map that is known already.
        priors: beliefs about hyper-parameters; None for plain maximum likelihood.
        noise: standard deviation of observation noise in the units of y; None: it is learned.
        most_outcomes: a search with more gives it the best, the latest and an even choice of the
            others: an ask takes n² work, and a fit n³; see benchmarks/large.
    """

    kernel: Kernel = field(default_factory=Matern52)
    outputs: Outputs | MonotoneMap | str = Outputs.YEO_JOHNSON
    priors: Priors | None = field(default_factory=Priors)
    noise: float | None = None
    most_outcomes: int = 2000

    def __post_init__(self) -> None:
        validate.at_least("most_outcomes", self.most_outcomes, 2)
        if not isinstance(self.outputs, MonotoneMap):
            object.__setattr__(self, "outputs", validate.choice("outputs", Outputs, self.outputs))
        if self.noise is not None:
            validate.not_negative("noise", self.noise)

    def with_labels(self, columns: tuple[int, ...]) -> GaussianProcess:
        """Return the process, told which columns are labels, unless it knows of some."""
        if self.kernel.categorical or not columns:
            return self
        return replace(self, kernel=replace(self.kernel, categorical=columns))

    def fit(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> FittedGP:
        """Return the process fitted to outcomes y at the rows of X.

        Args:
            X: inputs on the unit cube, shape (n, d).
            y: outcomes, shape (n,).
            noise: standard deviation of the noise of each outcome, NaN where it is not known (the
                middle one is taken). It adds to the noise for all, which is what these do not tell;
                with ``GaussianProcess(noise=0.0)`` there is no other.
        """
        X, y = validate.training_data(X, y)
        stds = None if noise is None else checked_stds(noise, y)
        return self._learned(X, y, stds, warm=None)

    def log_likelihood(
        self, X: ArrayLike, y: ArrayLike, theta: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return log p(y | theta) of outcomes in the model's units, and its gradient by theta."""
        X, y = validate.training_data(X, y)
        known = self._known_variances(y, None, PowerMap())
        loss, gradient = negative_log_posterior(self.kernel, X, y, known, None)(theta)
        return -loss, -gradient

    def at(
        self, theta: ArrayLike, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None
    ) -> FittedGP:
        """Return the process with hyper-parameters as given, conditioned on outcomes."""
        X, y = validate.training_data(X, y)
        theta = validate.finite("theta", theta)
        layout = self._layout(X)
        if theta.shape != (layout.size,):
            raise ValueError(
                f"`theta` holds the logarithms of {layout.names}, but got {theta.shape}."
            )
        stds = None if noise is None else checked_stds(noise, y)
        return self._fitted(X, y, stds, fit_map(self.outputs, y), theta)

    @property
    def takes_noise(self) -> bool:
        """Whether the noise of single outcomes may be given."""
        return self.outputs is not Outputs.TANH

    def _learned(
        self, X: FloatArray, y: FloatArray, stds: FloatArray | None, warm: FittedGP | None
    ) -> FittedGP:
        """Return the process with output map and hyper-parameters learned, starting from warm."""
        outputs = fit_map(self.outputs, y)
        theta = None if warm is None else warm.theta
        if self.outputs is Outputs.TANH:
            if stds is not None or self.noise is not None:
                raise ValueError('`outputs="tanh"` learns the noise: it cannot be given as well.')
            known = None if warm is None else warm.outputs
            start = (theta, known) if theta is not None and isinstance(known, TanhMap) else None
            outputs, theta = most_probable_warp(self.kernel, X, y, outputs, self.priors, start)
        else:
            noise, learns = self._known_variances(y, stds, outputs), self.noise is None
            theta = most_probable(self.kernel, X, outputs(y), noise, self.priors, theta, learns)
        return self._fitted(X, y, stds, outputs, theta)

    def _fitted(
        self,
        X: FloatArray,
        y: FloatArray,
        stds: FloatArray | None,
        outputs: MonotoneMap,
        theta: FloatArray,
    ) -> FittedGP:
        parameters = self._layout(X).split(theta)
        v = outputs(y)
        added = self._variances(y, stds, outputs, parameters)
        C, _ = self.kernel.on_itself(X)(parameters.kernel)
        K = parameters.signal * C
        K.flat[:: y.size + 1] += added
        W = inverse_factor(K, K.flat[0])
        return FittedGP(self, parameters, outputs, X, v, added, W, y.size, stds)

    def _layout(self, X: FloatArray) -> Layout:
        return Layout.of(self.kernel, X.shape[1], self.noise is None)

    def _known_variances(
        self, y: FloatArray, stds: FloatArray | None, outputs: MonotoneMap
    ) -> FloatArray | None:
        """Return variances of all noise that is given, in the model's units; None where none is."""
        if self.noise is None and stds is None:
            return None
        own = 0.0 if stds is None else filled(stds)
        return in_model_units(np.hypot(self.noise or 0.0, own), outputs, y)

    def _variances(
        self,
        y: FloatArray,
        stds: FloatArray | None,
        outputs: MonotoneMap,
        parameters: Hyperparameters,
    ) -> FloatArray:
        """Return variances of all noise, learned or given, in the model's units, (n,)."""
        learned = parameters.noise if self.noise is None else 0.0
        known = self._known_variances(y, stds, outputs)
        return np.full(y.size, learned) if known is None else learned + known
