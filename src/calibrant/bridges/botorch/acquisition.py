"""Analytic acquisitions of calibrated BoTorch models, from the residual itself and not its moments.

They extend BoTorch's own and take the same arguments. Where recalibration leaves the posterior
Gaussian, they are BoTorch's. Elsewhere they read improvement and probability from smooth tables of
the residual, so that gradients are useful. For the leader the tables are exact to 1e-5. The steps
of online and isotonic recalibrators are smoothed, which can move a probability by 0.03 and a
log-improvement by 0.2 next to a step. The bound is exact.
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.acquisition.analytic import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from calibrant.bridges.botorch import private
from calibrant.bridges.botorch.model import CalibratedModel
from calibrant.bridges.botorch.posterior import CalibratedPosterior


def _posterior(acquisition: Any, X: Tensor) -> CalibratedPosterior | None:
    """Return the calibrated posterior at X, or None if it is Gaussian."""
    model = acquisition.model
    if not isinstance(model, CalibratedModel):
        raise TypeError(
            f"`model` must be a CalibratedModel, but got {type(model).__name__}; for a raw model "
            f"use BoTorch's {type(acquisition).__bases__[0].__name__}."
        )
    if model.residuals.identity:  # BoTorch's own acquisition, whatever it does with the model
        return None
    parts = getattr(model.model, "models", [model.model])
    transforms = [getattr(part, "outcome_transform", None) for part in parts]
    if not all(transform is None or private.is_linear(transform) for transform in transforms):
        raise NotImplementedError(
            "Models with a non-linear outcome transform have no analytic acquisition; use "
            "qLogExpectedImprovement, which draws samples."
        )
    if model.residuals.gaussian:
        return None
    posterior = model.posterior(X, posterior_transform=acquisition.posterior_transform)
    if not isinstance(posterior, CalibratedPosterior):
        raise NotImplementedError(
            f"One output is needed, but the posterior is a {type(posterior).__name__}; use "
            "qLogExpectedImprovement, which draws samples."
        )
    return posterior


def _threshold(acquisition: Any, posterior: CalibratedPosterior) -> Tensor:
    """Return the value to improve on, in stds from the mean."""
    best = acquisition.best_f.to(posterior.location).reshape(-1, 1, 1)
    return (best - posterior.location) / posterior.scale


class CalibratedLogExpectedImprovement(LogExpectedImprovement):
    """Log-EI (Ament et al. 2023) of a calibrated model: log E[(Y − best_f)₊].

    With ``maximize=False`` it is log E[(best_f − Y)₊].
    """

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Return the logarithm of expected improvement at the points X, (b, 1, d)."""
        posterior = _posterior(self, X)
        if posterior is None:
            return super().forward(X)
        v = _threshold(self, posterior)
        residuals = posterior.residuals
        improvement = residuals.log_surplus(v) if self.maximize else residuals.log_shortfall(v)
        return (improvement + posterior.scale.log()).squeeze(-1).squeeze(-1)


class CalibratedLogProbabilityOfImprovement(LogProbabilityOfImprovement):
    """Log probability of improvement: log P(Y ≥ best_f).

    With ``maximize=False`` it is log P(Y ≤ best_f).
    """

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Return the logarithm of the probability at the points X, (b, 1, d)."""
        posterior = _posterior(self, X)
        if posterior is None:
            return super().forward(X)
        v = _threshold(self, posterior)
        score = posterior.residuals.score(v)
        log_probability = torch.special.log_ndtr(-score if self.maximize else score)
        return log_probability.squeeze(-1).squeeze(-1)


class CalibratedUpperConfidenceBound(UpperConfidenceBound):
    """The upper confidence bound (UCB) as a calibrated quantile, at level Φ(√beta).

    For a Gaussian that is μ + √beta·σ. With ``maximize=False`` it is minus the quantile at level
    Φ(−√beta).
    """

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Return the bound at the points X, (b, 1, d)."""
        posterior = _posterior(self, X)
        if posterior is None:
            return super().forward(X)
        sign = 1.0 if self.maximize else -1.0
        z = posterior.residuals.transport(sign * self.beta.to(X).sqrt().reshape(-1, 1, 1))
        bound = posterior.location + posterior.scale * z
        return sign * bound.squeeze(-1).squeeze(-1)
