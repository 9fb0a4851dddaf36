"""BoTorch models with calibrated posteriors, and analytic acquisitions that match them."""

from calibrant.bridges.botorch.acquisition import (
    CalibratedLogExpectedImprovement,
    CalibratedLogProbabilityOfImprovement,
    CalibratedUpperConfidenceBound,
)
from calibrant.bridges.botorch.model import CalibratedModel, loo_scores, scores
from calibrant.bridges.botorch.posterior import CalibratedPosterior

__all__ = [
    "CalibratedLogExpectedImprovement",
    "CalibratedLogProbabilityOfImprovement",
    "CalibratedModel",
    "CalibratedPosterior",
    "CalibratedUpperConfidenceBound",
    "loo_scores",
    "scores",
]
