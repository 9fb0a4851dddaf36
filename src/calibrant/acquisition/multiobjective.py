"""ParEGO (Knowles 2006): expected improvement of a Chebyshev scalarisation of the objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibrant.acquisition.base import Belief, Criterion
from calibrant.acquisition.residual_tables import curves
from calibrant.core.typing import FloatArray
from calibrant.forecasts.base import Forecast
from calibrant.models.protocol import FittedModel, GaussianBelief

# The improvements s at which P(S ≤ best S − s) is evaluated: from far below to far above the std of
# standardised outcomes, evenly spaced in log s. They are about half of s apart, so a belief that is
# narrower than that looks like a step.
_STEPS = np.geomspace(1e-3, 10.0, 24)
_LOG_STEP = float(np.log(_STEPS[1] / _STEPS[0]))  # ds = s·d log s

_BEYOND = 0.5  # of the std of outcomes, below the lowest: the ideal point that a search aims at


def parego(
    fits: Sequence[FittedModel],
    residuals: Sequence[Forecast],
    means: FloatArray,
    rng: np.random.Generator,
) -> Criterion:
    """Return the expected improvement of several objectives, scalarised at random (Knowles 2006).

    Args:
        fits: the belief about each objective.
        residuals: what recalibration makes of each.
        means: what each objective has reached, (objectives, points), in the models' units.
        rng: draws the weights of this step's Chebyshev scalarisation.
    """
    if not all(isinstance(fitted, GaussianBelief) for fitted in fits):
        raise ValueError(
            "Several objectives need a model that is a GaussianBelief, such as GaussianProcess."
        )
    weights = np.maximum(rng.dirichlet(np.ones(len(fits))), 1e-2)
    ideal = means.min(axis=1) - _BEYOND
    best = (weights[:, None] * (means - ideal[:, None])).max(axis=0).min()
    goals = [
        Belief(fitted, residual, float(low + best / weight))
        for fitted, residual, low, weight in zip(fits, residuals, ideal, weights, strict=True)
    ]
    return scalarised_improvement(goals, weights)


def scalarised_improvement(beliefs: Sequence[Belief], weights: FloatArray) -> Criterion:
    """Return the log expected improvement of ParEGO's scalarised objective (Knowles 2006).

    With random weights w, S = max_k w_k·(Y_k − ideal_k) is a Chebyshev scalarisation. ParEGO models
    S itself; here each outcome Y_k has its own calibrated belief. The beliefs are taken as
    independent, so that P(S ≤ s) is a product of calibrated CDFs, and the expected improvement is
    the integral of that product.

    Args:
        beliefs: one per objective; ``best`` is the value that its outcome must not exceed for S to
            reach the best S so far.
        weights: w, one per objective.
    """
    reads = [curves(belief.residual) for belief in beliefs]

    def evaluate(X: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray] | None]:
        log_integrand = np.log(_STEPS)[:, None] + np.zeros(X.shape[0])
        parts = []
        for belief, read, weight in zip(beliefs, reads, weights, strict=True):
            assert isinstance(belief.fitted, GaussianBelief)
            mean, std, pullback = belief.fitted.posterior(X)
            v = (belief.best - _STEPS[:, None] / weight - mean) / std
            value, slope = read.log_cdf(v)
            log_integrand = log_integrand + value
            parts.append((v, slope, std, pullback))
        peak = log_integrand.max(axis=0)
        share = np.exp(log_integrand - peak)
        value = peak + np.log(share.sum(axis=0)) + np.log(_LOG_STEP)
        share /= share.sum(axis=0)

        def gradient() -> FloatArray:
            by_x = np.zeros_like(X)
            for v, slope, std, pullback in parts:
                by_goal = share * slope / std
                by_x += pullback(-by_goal.sum(axis=0), -(by_goal * v).sum(axis=0))
            return by_x

        return value, gradient

    return evaluate
