"""Run the searches; results are JSON lines, one per search, and a finished search is not repeated.

python -m benchmarks.calibrated.run                           # all that is missing
python -m benchmarks.calibrated.run raw paper --parts "std x 0.1"
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibrated import controls
from benchmarks.calibrated.methods import METHODS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import file_name
from benchmarks.peers.suite import HELD_OUT, TASKS
from benchmarks.peers.variants import OptunaStudy
from calibrant import CalibratedSampler
from calibrant.search.defaults import MODEL

RESULTS = Path(__file__).parent / "results"

# Control 1 by its factor on the std, and control 2.
FACTORS = {f"std x {factor:g}": factor for factor in controls.FACTORS}
TOO_SMOOTH = "lengthscale 2"
CONTROLS = (*FACTORS, TOO_SMOOTH)

# Of the 62 tasks of the suite of benchmarks/peers, declared before any was run here.
SUITE = (
    "forrester",
    "six-hump camel",
    "goldstein-price",
    "hartmann-3",
    "hartmann-6",
    "michalewicz-2",
    "ackley-2, shifted 1",
    "rosenbrock-6",
    "levy-10, shifted 9",
    "ackley-20, shifted 3",
    "levy-20, shifted 10",
    "forrester, noisy",
    "branin, noisy",
    "hartmann-6, noisy",
    "ackley-4, shifted 30, noisy",
    "ackley, 2 of 5 whole",
    "hartmann-6, 2 on a grid",
    "pressure vessel",
    "three branches",
    "training script",
    "snoek svm",
    "mlp on vehicle",
    "network on protein_structure",
    "svm on digits",
)
PARTS: dict[str, tuple[str, ...]] = {
    **{control: tuple(controls.PROBLEMS) for control in CONTROLS},
    "suite": SUITE,
    "held out": HELD_OUT,
}

# Controls have seeds of their own: those below 100 chose their problems.
SEEDS = {part: range(100, 130) if part in CONTROLS else range(30) for part in PARTS}


def execute(method: str, part: str, task: str, seed: int) -> dict[str, Any]:
    """Return a line of the results."""
    warnings.simplefilter("ignore")
    started = time.process_time()
    values = _control(method, part, task, seed) if part in CONTROLS else _study(method, task, seed)
    return {
        "method": method,
        "part": part,
        "task": task,
        "seed": seed,
        "values": [float(f"{value:.6g}") for value in values],
        "seconds": round(time.process_time() - started, 2),
        "commit": commit(),
    }


def _control(method: str, part: str, problem: str, seed: int) -> list[float]:
    how, on = METHODS[method], controls.PROBLEMS[problem]
    if part == TOO_SMOOTH:
        model = how.outside(how.inside(controls.too_smooth(on.dim)))
    else:
        model = how.outside(controls.Misjudged(how.inside(controls.PROCESS), FACTORS[part]))
    return controls.search(on, seed, model=model, **how.settings)


def _study(method: str, name: str, seed: int) -> list[float]:
    """Return the mean outcomes of the points of a study, first points included."""
    how, task = METHODS[method], TASKS[name]
    model = how.outside(how.inside(MODEL))
    rng = np.random.default_rng([seed, 1])
    sampler = CalibratedSampler(seed=seed, model=model, **how.settings)
    study = OptunaStudy(list(task.space), seed, controls.BUDGET, sampler)
    points, values = task.first(controls.FIRST, seed), []
    for step in range(controls.BUDGET):
        settings = points[step] if step < controls.FIRST else study.ask()
        evaluation = task.evaluate(settings, rng)
        values.append(evaluation.mean)
        study.tell(settings, evaluation.outcome)
    return values


def path(method: str, folder: Path = RESULTS) -> Path:
    """Return where the results of a method are."""
    return folder / f"{file_name(method)}.jsonl"


def load(method: str, folder: Path = RESULTS) -> Iterator[dict[str, Any]]:
    """Yield the results of a method."""
    return read_lines(path(method, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--repetitions", type=int, default=30, help="at most so many of each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    done = {
        (method, row["part"], row["task"], row["seed"])
        for method in given.methods
        for row in load(method, given.folder)
    }
    # Repetition by repetition: a run that is stopped has whole pairs.
    missing = [
        (method, part, task, seed)
        for repetition in range(given.repetitions)
        for part in given.parts
        for seed in SEEDS[part][repetition : repetition + 1]
        for task in PARTS[part]
        for method in given.methods
        if (method, part, task, seed) not in done
    ]
    run_missing(
        execute, missing, lambda row: append(path(row["method"], given.folder), row), given.jobs
    )


if __name__ == "__main__":
    main()
