"""Searches that go on from a large history, with models fitted to more or fewer of its outcomes.

    python -m benchmarks.large.run

A history is made of n evaluations as a long search leaves them: a third anywhere, the others around
the optimum, ever closer. From there the search goes on for 20 asks. Results are JSON lines, one
per run: CPU seconds of each ask, on one thread, and how far the best outcome came. A run that is
in the results is not repeated.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.peers.adapters.worker import from_unit
from benchmarks.peers.suite import TASKS
from calibrant import Optimizer
from calibrant.models import Rotation
from calibrant.search.defaults import MODEL

RESULTS = Path(__file__).parent / "results" / "large.jsonl"
PROBLEMS = ("rosenbrock-6", "levy-10, shifted 9", "ackley-20, shifted 3")
SIZES = (2000, 10_000)
LIMITS = (250, 500, 1000, 2000)
SEEDS = range(10)
ASKS = 20
KEYS = ("task", "n", "most", "seed")


def execute(name: str, n: int, most: int, seed: int) -> dict:
    """Return what is to be kept of a run."""
    task, rng = TASKS[name], np.random.default_rng(seed)

    def evaluate(x: np.ndarray) -> float:
        settings = {p["name"]: from_unit(p, float(u)) for p, u in zip(task.space, x, strict=True)}
        return task.evaluate(settings, rng).mean

    dim = len(task.space)
    # The best of many random points stands for the optimum, which the search does not know.
    centre = min(rng.random((3000, dim)), key=evaluate)
    width = np.geomspace(0.3, 0.03, n)[:, None]
    near = np.clip(centre + width * rng.standard_normal((n, dim)), 0.0, 1.0)
    history = np.where(np.arange(n)[:, None] % 3 == 0, rng.random((n, dim)), near)
    # Without the learned level and patience, which are younger than the results: what is compared
    # is how many outcomes a process is given.
    processes = tuple(
        replace(process, most_outcomes=most, kernel=replace(process.kernel, level=0.0))
        for process in MODEL.processes
    )
    optimizer = Optimizer(dim, model=Rotation(processes), patience=None, seed=seed)
    outcomes = [evaluate(x) for x in history]
    for x, y in zip(history, outcomes, strict=True):
        optimizer.tell(x, y)
    seconds, found = [], []
    for _ in range(ASKS):
        start = time.process_time()
        x = optimizer.ask()
        seconds.append(round(time.process_time() - start, 4))
        found.append(evaluate(x))
        optimizer.tell(x, found[-1])
    return {
        **dict(zip(KEYS, (name, n, most, seed), strict=True)),
        "before": min(outcomes),
        "after": min(*outcomes, *found),
        "seconds": seconds,
        "commit": commit(),
    }


def main() -> None:
    done = {tuple(row[key] for key in KEYS) for row in read_lines(RESULTS)}
    every = itertools.product(PROBLEMS, SIZES, LIMITS, SEEDS)
    plan = sorted((run for run in every if run not in done), key=lambda run: run[3])
    # One at a time: neighbours on the same memory would be part of the times.
    run_missing(execute, plan, partial(append, RESULTS), jobs=1, title="runs")


if __name__ == "__main__":
    main()
