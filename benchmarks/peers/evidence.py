"""Intervals of means over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DRAWS = 2000


class Estimate(NamedTuple):
    """A mean over tasks of means over their runs, and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def estimate(by_task: Sequence[np.ndarray], tasks_too: bool = False) -> Estimate:
    """Return the mean with a bootstrap interval: repetitions are drawn again, and tasks if asked.

    Without tasks the interval is about these tasks; with them, about others of their kind.
    """
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        means = np.array([rng.choice(values, values.size).mean() for values in by_task])
        drawn.append(rng.choice(means, means.size).mean() if tasks_too else means.mean())
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(float(np.mean([values.mean() for values in by_task])), float(low), float(high))
