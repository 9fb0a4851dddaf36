"""CPU seconds of an ask in many dimensions: python -m benchmarks.kinds.cost.

Each of the three kernels is fitted, then asked with one more outcome, and fitted again. Two thirds
of the outcomes lie around one of them, as those of a search do.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks.kinds.run import RESULTS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from calibrant import test_functions
from calibrant.core.cube import Cube
from calibrant.search.history import History
from calibrant.search.step import Fits, Policy

PATH = RESULTS / "cost.jsonl"
SIZES = ((20, 100), (20, 500), (60, 500), (100, 100), (100, 500))  # dimensions, outcomes
KERNELS = 3
REFITTED = 1.06  # times the outcomes: from 1.05 on, a kernel is fitted again


def measured(dim: int, count: int) -> dict[str, float]:
    """Return seconds of the first ask, of one that appends and of one that fits again (medians)."""
    rng, policy, cube = np.random.default_rng(0), Policy(), Cube.continuous(dim)
    points = rng.random((int(REFITTED * count) + KERNELS, dim))
    clustered = points[count // 3 :]
    moved = 0.1 * rng.standard_normal(clustered.shape) * (rng.random(clustered.shape) < 0.3)
    points[count // 3 :] = np.clip(points[0] + moved, 0.0, 1.0)
    outcomes = test_functions.shifted(test_functions.ackley(dim), 1).on_cube(points)

    def ask(known: int, last: Fits | None) -> tuple[Fits, float]:
        history = replace(
            History.empty(dim),
            X=points[:known],
            Y=outcomes[:known, None],
            was_forecast=np.ones(known, dtype=bool),
            constraints=np.zeros((known, 0)),
        )
        began = time.process_time()
        suggestion = policy.suggest(history, cube, rng, last)
        return suggestion.fits, time.process_time() - began

    last, found = None, []
    starts = (count - KERNELS, count, int(REFITTED * count))
    for start in starts:
        seconds = []
        for known in range(start, start + KERNELS):
            last, took = ask(known, last)
            seconds.append(took)
        found.append(round(float(np.median(seconds)), 3))
    return dict(zip(("first", "appends", "refits"), found, strict=True))


def main() -> None:
    done = {(row["dimensions"], row["outcomes"]) for row in read_lines(PATH)}
    for dim, count in SIZES:
        if (dim, count) not in done:
            row = {"dimensions": dim, "outcomes": count, **measured(dim, count), "commit": commit()}
            append(PATH, row)


if __name__ == "__main__":
    main()
