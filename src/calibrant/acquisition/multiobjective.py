"""Several objectives: the expected improvement of a Chebyshev scalarisation (ParEGO)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibrant.acquisition.base import Belief, Criterion
from calibrant.acquisition.residual_tables import curves
from calibrant.core.typing import FloatArray
from calibrant.models.protocol import GaussianBelief

# Improvements at which scalarised beliefs are read: from far below to far above the std of
# standardised outcomes, evenly in logarithm. A belief that is narrower than the way from one to the
# next, a half of the improvement, is seen as a step.
_STEPS = np.geomspace(1e-3, 10.0, 24)
_LOG_STEP = float(np.log(_STEPS[1] / _STEPS[0]))  # ds = s·d log s


def scalarised_improvement(beliefs: Sequence[Belief], weights: FloatArray) -> Criterion:
    """Return the log expected improvement of the largest of several weighted outcomes.

    With the random weights w this is Chebyshev scalarisation: S = max_k w_k·(Y_k − ideal_k).
    Beliefs about the outcomes are taken as independent, so that P(S ≤ s) is a product of
    calibrated CDFs and the improvement the integral of that product. ``best`` of each belief is
    the value its outcome has to fall below for S to reach the best S so far.
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
