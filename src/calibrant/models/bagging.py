"""Bagging (Breiman 1996) of Gaussian processes, each fitted to a bootstrap resample of outcomes.

Where members disagree, the ensemble is less certain than its members: a classic way to wider
uncertainty, at the cost of one fit per member. The forecast is the Gaussian with the mean and
variance of the mixture of members.
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
from calibrant.models.fitted_gp import FittedGP, factor
from calibrant.models.gp import GaussianProcess
from calibrant.models.protocol import Posterior


@dataclass(frozen=True)
class BaggedProcesses:
    """Bagged Gaussian processes (Breiman 1996): one per bootstrap resample.

    Args:
        model: the process of each member.
        members: the number of members.
        seed: of the resamples; the same outcomes give the same ensemble.
    """

    model: GaussianProcess = field(default_factory=GaussianProcess)
    members: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        validate.at_least("members", self.members, 2)
        if self.model.outputs is Outputs.TANH:
            raise ValueError(
                'Members share one output map, but `outputs="tanh"` is fitted by each of them; '
                "choose another output map."
            )

    @property
    def most_outcomes(self) -> int:
        """The most outcomes that a search gives it."""
        return self.model.most_outcomes

    def with_labels(self, columns: tuple[int, ...]) -> BaggedProcesses:
        """Return the ensemble with the given columns as labels, unless its kernel names some."""
        return replace(self, model=self.model.with_labels(columns))

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedBag:
        """Return the ensemble fitted to outcomes y at the rows of X."""
        X, y = validate.training_data(X, y)
        # One map for all members, because averaging them needs common units.
        shared = fit_map(self.model.outputs, y)
        member = replace(self.model, outputs=shared)
        rng = np.random.default_rng([self.seed, y.size])
        drawn = [rng.integers(y.size, size=y.size) for _ in range(self.members)]
        return FittedBag(tuple(member.fit(X[rows], y[rows]) for rows in drawn), shared, X)


@dataclass(frozen=True)
class FittedBag:
    """An ensemble after ``fit``."""

    members: tuple[FittedGP, ...]
    outputs: MonotoneMap
    X: FloatArray  # all inputs; each member has seen some of them

    def predict(self, X: ArrayLike) -> Forecast:
        """Forecast the outcomes at the rows of X, observation noise included."""
        belief = self.posterior(self.members[0].points(X))
        noise = np.mean([member.noise_around(belief.mean) for member in self.members], axis=0)
        return mapped(Normal(belief.mean, np.sqrt(belief.std**2 + noise)), self.outputs)

    def posterior(self, X: FloatArray) -> Posterior:
        """Return mean and std of the mixture of members, without noise, in the model's units."""
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
        """Return the means of the ensemble at all training inputs, in the model's units."""
        return self.posterior(self.X).mean

    def condition(
        self,
        X: FloatArray,
        values: FloatArray | None = None,
        *,
        std: FloatArray | float | None = None,
    ) -> FittedBag:
        """Return the ensemble conditioned on ``values`` at X, in the model's units.

        By default the values are the ensemble's own means. They count as outcomes with the model's
        noise, or with noise of the given ``std``; with 0 they are exact values of the function.
        """
        if X.shape[0] == 0:
            return self
        values = self.posterior(X).mean if values is None else values
        members = tuple(member.condition(X, values, std=std) for member in self.members)
        return replace(self, members=members, X=np.vstack([self.X, X]))

    def sample(self, X: FloatArray, seed_scores: FloatArray) -> FloatArray:
        """Return a joint draw of the function at X, from standard normal ``seed_scores``.

        The draw is from the Gaussian with the mixture's mean and covariance.
        """
        parts = [member.joint(X) for member in self.members]
        means = np.array([mean for mean, _ in parts])
        mean = means.mean(axis=0)
        away = means - mean
        covariance = np.mean([own for _, own in parts], axis=0) + away.T @ away / len(parts)
        scale = max(member.signal_variance for member in self.members)
        return np.asarray(mean + factor(covariance, scale) @ seed_scores)
