"""An ensemble of Gaussian processes, each fitted to a bootstrap resample of the outcomes.

Where members disagree the ensemble is less sure than any of them: a classic way to more honest
uncertainty, at the price of as many fits. What members say is joined into the Gaussian with the
mixture's mean and variance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core import validate
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.forecasts.mapped import mapped
from calibrant.forecasts.normal import Normal
from calibrant.forecasts.output_maps.power import MonotoneMap, Outputs, fit_map
from calibrant.models.gp import FittedGP, GaussianProcess, factor
from calibrant.models.protocol import Posterior


@dataclass(frozen=True)
class BaggedProcesses:
    """Gaussian processes on bootstrap resamples.

    Args:
        model: the process that each member is.
        members: how many there are.
        seed: of the resamples; the same outcomes give the same ensemble.
    """

    model: GaussianProcess = field(default_factory=GaussianProcess)
    members: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        validate.at_least("members", self.members, 2)
        if self.model.outputs is Outputs.TANH:
            raise ValueError('Members share one output map, which `outputs="tanh"` cannot give.')

    @property
    def most_outcomes(self) -> int:
        """How many outcomes a search gives it at most."""
        return self.model.most_outcomes

    def with_labels(self, columns: tuple[int, ...]) -> BaggedProcesses:
        """Return the ensemble, told which columns are labels, unless it knows of some."""
        return replace(self, model=self.model.with_labels(columns))

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedBag:
        """Return the ensemble fitted to outcomes y at the rows of X."""
        X, y = validate.training_data(X, y)
        # One map for all: members are added up, which takes the same units.
        shared = fit_map(self.model.outputs, y)
        member = replace(self.model, outputs=shared)
        rng = np.random.default_rng([self.seed, y.size])
        drawn = [rng.integers(y.size, size=y.size) for _ in range(self.members)]
        return FittedBag(tuple(member.fit(X[rows], y[rows]) for rows in drawn), shared, X)


@dataclass(frozen=True)
class FittedBag:
    """The ensemble given outcomes."""

    members: tuple[FittedGP, ...]
    outputs: MonotoneMap
    X: FloatArray  # all inputs, of which each member has seen some

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        belief = self.posterior(self.members[0].points(X))
        noise = np.mean([member.noise_around(belief.mean) for member in self.members], axis=0)
        return mapped(Normal(belief.mean, np.sqrt(belief.std**2 + noise)), self.outputs)

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the mixture of members, without noise."""
        parts = [member.posterior(X) for member in self.members]
        means = np.array([part.mean for part in parts])
        stds = np.array([part.std for part in parts])
        mean = means.mean(axis=0)
        away = means - mean
        std = np.sqrt((stds**2 + away**2).mean(axis=0))

        def pullback(by_mean: FloatArray, by_std: FloatArray) -> FloatArray:
            # std² is the mean of std_k² + (mean_k − mean)², and Σ (mean_k − mean) is zero.
            share = by_std / std
            pulled = [
                part.pullback(by_mean + share * apart, share * own)
                for part, apart, own in zip(parts, away, stds, strict=True)
            ]
            return np.asarray(np.mean(pulled, axis=0))

        return Posterior(mean, std, pullback)

    def in_model_units(self, y: ArrayLike) -> FloatArray:
        """Return g(y)."""
        return self.outputs(y)

    def means(self) -> FloatArray:
        """Return the ensemble's means at all inputs."""
        return self.posterior(self.X).mean

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedBag:
        """Return the ensemble after ``values`` in its units; by default its own means.

        They are outcomes, with noise; or, where ``std`` says how far they may be from the
        function, more or less sure than that. At 0 they are the function's own.
        """
        if X.shape[0] == 0:
            return self
        values = self.posterior(X).mean if values is None else values
        members = tuple(member.condition(X, values, std=std) for member in self.members)
        return replace(self, members=members, X=np.vstack([self.X, X]))

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, made of standard normal ``seed_scores``."""
        parts = [member.joint(X) for member in self.members]
        means = np.array([mean for mean, _ in parts])
        mean = means.mean(axis=0)
        away = means - mean
        covariance = np.mean([own for _, own in parts], axis=0) + away.T @ away / len(parts)
        scale = max(member.signal_variance for member in self.members)
        return np.asarray(mean + factor(covariance, scale) @ seed_scores)
