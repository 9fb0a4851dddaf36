"""What a kind of problem offers to the runs and the page. A new kind is a module in `run.KINDS`.

A task is played by a system with a seed, which also decides the first evaluations: they are the
same for all systems. What comes back is kept as one JSON line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FIRST = 5  # evaluations that all systems share
REPETITIONS = 20

# task, seed -> what is kept: at least {"values": […]}, minimised, NaN where it does not count
Play = Callable[[str, int], dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of problem.

    Args:
        name: also of its file of results.
        title: of its section.
        text: what it is about.
        systems: by name, what plays a task.
        scales: by task, the best value there is and the mean of random ones: regret 0 and 1.
        trials: evaluations in each run.
    """

    name: str
    title: str
    text: str
    systems: Mapping[str, Play]
    scales: Callable[[], Mapping[str, tuple[float, float]]]
    trials: int


def regrets(values: list[float | None], best: float, usual: float) -> np.ndarray:
    """Return the regret after each evaluation; those that do not count change nothing."""
    known = np.array([np.inf if value is None else value for value in values])
    return (np.minimum.accumulate(known) - best) / (usual - best)
