"""The value to beat: which points count, and what their best is where that is uncertain.

With noisy outcomes nobody knows which of them is the best, and how good. The function is then drawn
jointly at the points that may be the best, and an improvement is one over the best of each draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.acquisition.base import DrawnBest
from calibrant.core.cube import Cube
from calibrant.core.typing import FloatArray
from calibrant.models.draws import Draws
from calibrant.models.protocol import FittedModel, GaussianBelief
from calibrant.models.rotation import as_process
from calibrant.search.history import History
from calibrant.search.pending import Imagined

# Std of noise, in units in which outcomes have a std of 1, from which it is more than the prior's
# guess of 0.01. Below that, what looks like noise is as often roughness, and the best point is
# where the best outcome was.
_SEEN = 0.03
_BREADTH = 0.03  # of the spread of the good outcomes: less is no improvement beside a running point
_SAME = 1e-9  # two coordinates that differ by less are the same
_RIVALS = 16  # points that may be the best: more hardly change the best of a draw
_PAIRS = 8  # of draws, each with its mirror image


class Reached(NamedTuple):
    """What an improvement must beat: k points, and what the models expect there."""

    points: FloatArray  # (k, d)
    means: FloatArray  # (objectives, k), in the models' units
    breadth: float  # how far below the lowest value of a single objective an improvement begins

    @property
    def best(self) -> float:
        """The value of a single objective to beat, as if it were certain."""
        return float(self.means[0].min()) - self.breadth


def to_beat(imagined: Sequence[Imagined], succeeded: History, cube: Cube) -> Reached:
    """Return the points that an improvement must beat.

    They are those of feasible outcomes, then of running points: another next to these is no
    improvement. Where some coordinates were given, only points that have the same count: what is
    good for one batch of material says little about another. Likewise of ranges that were narrowed,
    and of rules: what is good where nothing may be tried any more would leave nothing to gain.
    Before there are any, all outcomes count as the models would expect them here.
    """
    no_outcome = np.zeros(len(succeeded.failed) + len(succeeded.pruned), dtype=bool)
    running = np.ones(len(succeeded.pending), dtype=bool)
    reached = np.concatenate([succeeded.feasible, no_outcome, running])
    X, given = np.concatenate([succeeded.X, succeeded.without_outcome]), list(cube.given)
    here = [cube.axes[column].values[0] for column in given]
    same = reached & np.all(np.abs(X[:, given] - here) < _SAME, axis=1)
    same[: len(succeeded.X)] &= succeeded.inside
    if cube.rule is not None:
        same[same] = cube.rule.holds(X[same])
    if same.any():
        found = np.array([one.means[same] for one in imagined])
        return Reached(X[same], found, _breadth(found, same[: len(succeeded.X)], succeeded))
    moved = np.clip(X[reached], 0.0, 1.0)
    moved[:, given] = here
    means = [
        one.fitted.posterior(moved).mean
        if isinstance(one.fitted, GaussianBelief)
        else np.asarray(one.fitted.predict(moved).quantile(0.5))
        for one in imagined
    ]
    found = np.array(means)
    return Reached(moved, found, _breadth(found, succeeded.feasible, succeeded))


def drawn_best(fitted: FittedModel, reached: Reached, rng: np.random.Generator) -> DrawnBest | None:
    """Return draws of the lowest value of a Gaussian process among the points to beat.

    Where it sees no noise, or is not a process, None is returned.
    """
    process = as_process(fitted)
    if process is None or not sees_noise(fitted):
        return None
    mean, std, _ = process.posterior(reached.points)
    rivals = reached.points[np.argsort(mean - std)[:_RIVALS]]
    scores = rng.standard_normal((_PAIRS, rivals.shape[0]))
    draws = Draws.of(process, rivals, np.concatenate([scores, -scores]))
    return DrawnBest(draws, draws.values.min(axis=1) - reached.breadth)


def sees_noise(fitted: FittedModel) -> bool:
    """Return whether a Gaussian process takes most outcomes for noisy; of other models, no."""
    process = as_process(fitted)
    return process is not None and bool(np.sqrt(np.median(process.noise_variance)) >= _SEEN)


def _breadth(means: FloatArray, finished: NDArray[np.bool_], succeeded: History) -> float:
    """Return what is no improvement beside a running point; 0 where none runs, or has ended."""
    if not succeeded.pending.size or not finished.any():
        return 0.0
    return _BREADTH * _spread_of_the_good(means[0, : int(finished.sum())])


def _spread_of_the_good(means: FloatArray) -> float:
    """Return the std of the best quarter: it shrinks as a search comes closer, that of all not."""
    return float(np.std(np.sort(means)[: max(5, means.size // 4)]))
