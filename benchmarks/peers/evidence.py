"""Intervals of means over tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.paper.metrics import Estimate

DRAWS = 2000


def estimate(by_task: Sequence[np.ndarray], tasks_too: bool = False) -> Estimate:
    """Return the mean over tasks of the mean over their runs, with a 95 % bootstrap interval.

    Repetitions are drawn again, and tasks if asked. Without tasks the
    interval is about these tasks; with them, about others of their kind.
    """
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        means = np.array([rng.choice(values, values.size).mean() for values in by_task])
        drawn.append(rng.choice(means, means.size).mean() if tasks_too else means.mean())
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(float(np.mean([values.mean() for values in by_task])), float(low), float(high))


def signed(change: Estimate) -> str:
    """Return a change and its interval, as the page has them."""
    return f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
