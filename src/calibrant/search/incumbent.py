"""The value to beat, where it is uncertain: which of the best points is the best, and how good?

With noisy outcomes nobody knows. The function is then drawn jointly at the points that may be the
best, and an improvement is one over the best of each draw.
"""

from __future__ import annotations

import numpy as np

from calibrant.acquisition.base import DrawnBest
from calibrant.core.typing import FloatArray
from calibrant.models.draws import Draws
from calibrant.models.protocol import FittedModel
from calibrant.models.rotation import as_process

# Std of noise, in units in which outcomes have a std of 1, from which it is more than the prior's
# guess of 0.01. Below that, what looks like noise is as often roughness, and the best point is
# where the best outcome was.
_SEEN = 0.03
_RIVALS = 16  # points that may be the best: more hardly change the best of a draw
_PAIRS = 8  # of draws, each with its mirror image


def drawn_best(
    fitted: FittedModel, reached: FloatArray, breadth: float, rng: np.random.Generator
) -> DrawnBest | None:
    """Return draws of the lowest value of a Gaussian process among some points.

    Args:
        fitted: the belief. Where it sees no noise, or is not a process, None is returned.
        reached: the points, (n, d).
        breadth: how far below the lowest value of a draw an improvement begins.
        rng: what the draws are made of.
    """
    process = as_process(fitted)
    if process is None or not sees_noise(fitted):
        return None
    mean, std, _ = process.posterior(reached)
    rivals = reached[np.argsort(mean - std)[:_RIVALS]]
    scores = rng.standard_normal((_PAIRS, rivals.shape[0]))
    draws = Draws.of(process, rivals, np.concatenate([scores, -scores]))
    return DrawnBest(draws, draws.values.min(axis=1) - breadth)


def sees_noise(fitted: FittedModel) -> bool:
    """Return whether a Gaussian process takes most outcomes for noisy; of other models, no."""
    process = as_process(fitted)
    return process is not None and bool(np.sqrt(np.median(process.noise_variance)) >= _SEEN)
