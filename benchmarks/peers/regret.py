"""The unit of regret: 0 is the minimum of a task, 1 what random search leaves of it."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from benchmarks.peers.run import load
from benchmarks.peers.suite import TASKS

YARDSTICK = "random"
SHORT = 30  # evaluations of random search that make the unit: with 100, it solves some tasks


class Scale(NamedTuple):
    """Where regret is 0, and how much of an outcome is 1."""

    minimum: float
    unit: float

    def regret(self, values: np.ndarray) -> np.ndarray:
        """Return normalised regret."""
        return (values - self.minimum) / self.unit


def scales() -> dict[str, Scale]:
    """Return the scale of each task that random search has met."""
    lowest: dict[str, float] = defaultdict(lambda: np.inf)
    left: dict[str, list[float]] = defaultdict(list)
    for result in load():
        if not result["values"]:
            continue
        reached = min(result["values"])
        lowest[result["task"]] = min(lowest[result["task"]], reached)
        if result["rival"] == YARDSTICK and result["budget"] == SHORT:
            left[result["task"]].append(reached)
    # Of a live task nobody knows the minimum: a rival may have found a lower value.
    minima = {t: TASKS[t].minimum for t in left}
    minima |= {t: min(minima[t], lowest[t]) for t in left if "live" in TASKS[t].groups}
    return {t: Scale(minima[t], float(np.mean(ends)) - minima[t]) for t, ends in left.items()}
