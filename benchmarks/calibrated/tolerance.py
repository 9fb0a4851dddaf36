"""How much error of scale the default lets pass: what its tolerance was chosen by.

    python -m benchmarks.calibrated.tolerance     # what is missing

Two questions of each lower end of the tolerance: does a search with a model three times too unsure
become what it is with the right std, and how often does it act on a default model, which should be
left alone? The first from searches of the controls, with other seeds than the benchmark's; the
second from leave-one-out scores of raw searches on the suite and the training jobs to learn from.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibrated import controls
from benchmarks.calibrated.run import FACTORS, TOO_SMOOTH
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import markdown_table
from benchmarks.peers.stuck import LEARNING
from benchmarks.peers.suite import SUITE, TASKS
from benchmarks.peers.variants import BUDGET, FIRST, OptunaStudy
from calibrant import CalibratedSampler, ScaleRecalibrator

RESULTS = Path(__file__).parent / "results" / "tolerance.jsonl"
LOWEST = (0.6, 0.7, 0.75, 0.8)  # the ends that were compared; the upper one is 1.25
CONTROLS = ("std x 1", "std x 3", TOO_SMOOTH)
SEEDS = range(50, 62)  # of controls
ON_TASKS = (100, 101)
RAW = None


def recalibrator(lowest: float) -> ScaleRecalibrator:
    """Return the default's recalibrator with another tolerance."""
    return ScaleRecalibrator(tolerance=(lowest, 1.25))


def execute(part: str, name: str, seed: int) -> dict[str, Any]:
    """Return a line of the results."""
    warnings.simplefilter("ignore")
    found = _areas(part, name, seed) if part in CONTROLS else _acts(name, seed)
    return {"part": part, "task": name, "seed": seed, **found, "commit": commit()}


def _areas(part: str, name: str, seed: int) -> dict[str, Any]:
    """Return the area of a raw search and of one with each tolerance."""
    problem = controls.PROBLEMS[name]
    if part == TOO_SMOOTH:
        model: Any = controls.too_smooth(problem.dim)
    else:
        model = controls.Misjudged(controls.PROCESS, FACTORS[part])
    ways = [RAW, *map(recalibrator, LOWEST)]
    curves = [controls.search(problem, seed, model=model, recalibrator=way) for way in ways]
    return {"areas": [round(controls.area(problem, curve), 5) for curve in curves]}


class Watched(ScaleRecalibrator):
    """Keeps the scores of each step, and never acts."""

    steps: list[np.ndarray] = []  # noqa: RUF012 - of this process: one search at a time

    @property
    def scale(self) -> float:  # type: ignore[override]
        """What leaves a search as it is."""
        self.steps.append(self._scores)
        return 1.0


def _acts(name: str, seed: int) -> dict[str, Any]:
    """Return at how many steps of a raw search each tolerance would act."""
    task, rng = TASKS[name], np.random.default_rng([seed, 1])
    sampler = CalibratedSampler(seed=seed, recalibrator=Watched())
    study = OptunaStudy(list(task.space), seed, BUDGET, sampler)
    points = task.first(FIRST, seed)
    Watched.steps.clear()
    for step in range(BUDGET):
        settings = points[step] if step < FIRST else study.ask()
        study.tell(settings, task.evaluate(settings, rng).outcome)
    acts = [
        sum(recalibrator(low).update_scores(z).scale != 1.0 for z in Watched.steps)
        for low in LOWEST
    ]
    return {"acts": acts}


def missing() -> Iterator[tuple[str, str, int]]:
    """Yield what is planned and not there."""
    done = {(row["part"], row["task"], row["seed"]) for row in read_lines(RESULTS)}
    plan = [(part, name, s) for s in SEEDS for part in CONTROLS for name in controls.PROBLEMS]
    tasks = dict.fromkeys([*LEARNING, *SUITE])
    plan += [("learning tasks", name, seed) for seed in ON_TASKS for name in tasks]
    yield from (job for job in plan if job not in done)


def table() -> str:
    """Return what each tolerance does, for the page."""
    areas: dict[str, list[list[float]]] = defaultdict(list)
    acts: list[list[int]] = []
    for row in read_lines(RESULTS):
        if "acts" in row:
            acts.append(row["acts"])
        else:
            areas[row["part"]].append(row["areas"])
    means = {part: np.mean(values, axis=0) for part, values in areas.items()}
    touched = np.sum(np.array(acts) > 0, axis=0)
    head = ("lowest scale that passes", *CONTROLS, "searches of learning tasks that it touches")
    names = ["raw", *(f"{low:g}" for low in LOWEST)]
    often = ["–", *(f"{count} of {len(acts)}" for count in touched)]
    rows = [
        [name, *(f"{means[part][i]:.3f}" for part in CONTROLS), often[i]]
        for i, name in enumerate(names)
    ]
    searches = min(len(values) for values in areas.values())
    said = (
        f"Mean area of {searches} searches of each control, and how many raw searches it touches."
    )
    return f"{said}\n\n{markdown_table(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    run_missing(execute, list(missing()), lambda row: append(RESULTS, row), given.jobs)


if __name__ == "__main__":
    main()
