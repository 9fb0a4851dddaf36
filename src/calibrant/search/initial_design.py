"""The first points of a search, before there is enough to fit a model to.

One rule for ask and tell and for Optuna's trials: each has its own place in a space-filling design,
and where that point is taken, or the design is used up, a random point that is not.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from calibrant.core.cube import Cube, keys
from calibrant.core.typing import FloatArray
from calibrant.search.history import History

_LEAST = 2  # complete evaluations, where many are pruned, before the model is asked


def is_startup(history: History, n_startup_trials: int) -> bool:
    """Return whether the next point still belongs to the initial design.

    Pruned evaluations count, as their reports say how they were going; failed and running ones do
    not, as a model learns nothing from them.
    """
    complete, pruned = history.Y.shape[0], history.pruned.shape[0]
    fewest = max(1, min(n_startup_trials, _LEAST))
    return bool(complete < fewest or complete + pruned < n_startup_trials)


def startup_point(
    design: FloatArray, cube: Cube, taken: Set[bytes], rng: np.random.Generator
) -> FloatArray:
    """Return the first of some points of the design that is not taken, else a random one."""
    for x, key in zip(design, keys(design), strict=True):
        if key not in taken:  # in a small space a design repeats itself
            return np.asarray(x)
    return cube.untaken(rng, taken)
