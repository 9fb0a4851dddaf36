"""The unit of regret: 0 is the minimum of a task, 1 what random search leaves of it.

    python -m benchmarks.peers.regret    # measures what random search reaches: units.json

Random search here: five points of a Latin hypercube, as all systems are told, and 25 uniform ones.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kit.running import run_missing
from benchmarks.peers.adapters.worker import from_unit
from benchmarks.peers.run import FIRST, load
from benchmarks.peers.suite import TASKS

UNITS = Path(__file__).parent / "units.json"
SHORT = 30  # evaluations of random search that make the unit: with 100, it solves some tasks
SEARCHES = 1000  # on some functions one search in hundreds is lucky, and makes half of the mean
LIVE_SEARCHES = 30  # each evaluation trains a model


class Scale(NamedTuple):
    """Where regret is 0, and how much of an outcome is 1."""

    minimum: float
    unit: float

    def regret(self, values: np.ndarray) -> np.ndarray:
        """Return normalised regret."""
        return (values - self.minimum) / self.unit


def scales() -> dict[str, Scale]:
    """Return the scale of each task whose unit has been measured."""
    reached = {name: unit["mean"] for name, unit in units().items() if name in TASKS}
    lowest: dict[str, float] = defaultdict(lambda: np.inf)
    for result in load():
        lowest[result["task"]] = min([lowest[result["task"]], *result["values"]])
    # Of a live task nobody knows the minimum: a rival may have found a lower value.
    minima = {
        name: min(TASKS[name].minimum, lowest[name] if "live" in TASKS[name].groups else np.inf)
        for name in reached
    }
    return {name: Scale(minima[name], mean - minima[name]) for name, mean in reached.items()}


def units() -> dict[str, dict[str, Any]]:
    """Return the mean of what random search reaches on each task, its error and its searches."""
    return json.loads(UNITS.read_text(encoding="utf-8")) if UNITS.exists() else {}


def measure(name: str) -> dict[str, Any]:
    """Return what random search reaches on a task."""
    task = TASKS[name]
    searches = LIVE_SEARCHES if "live" in task.groups else SEARCHES
    reached = [random_search(name, seed) for seed in range(searches)]
    error = np.std(reached, ddof=1) / np.sqrt(searches)
    return {
        "mean": float(f"{np.mean(reached):.7g}"),
        "error": float(f"{error:.2g}"),
        "searches": searches,
    }


def random_search(name: str, seed: int) -> float:
    """Return the lowest mean outcome of a random search."""
    task, draw, noise = TASKS[name], random.Random(f"{name} {seed}"), np.random.default_rng(seed)
    points = task.first(FIRST, seed)
    points += [
        {p["name"]: from_unit(p, draw.random()) for p in task.space} for _ in range(SHORT - FIRST)
    ]
    return min(task.evaluate(point, noise).mean for point in points)


def main() -> None:
    known = units()

    def keep(measured: tuple[str, dict[str, Any]]) -> None:
        name, known[name] = measured
        in_order = {task: known[task] for task in TASKS if task in known}
        UNITS.write_text(json.dumps(in_order, indent=1) + "\n", encoding="utf-8")

    missing = [(name,) for name in TASKS if name not in known]
    run_missing(_named_measure, missing, keep, title="tasks")


def _named_measure(name: str) -> tuple[str, dict[str, Any]]:
    return name, measure(name)


if __name__ == "__main__":
    main()
