"""Searches in trouble, by calibrant and by Optuna's own samplers, from the same first points.

    python -m benchmarks.trouble.run

Results are JSON lines, one per run, and a run that is in them is not repeated. All systems have
their default settings; five first points and what is random in an objective are the same for all.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.trouble.tasks import TASKS, Failure, regret
from calibrant import CalibratedSampler

RESULTS = Path(__file__).parent / "results" / "trouble.jsonl"
SYSTEMS: dict[str, type[BaseSampler]] = {
    "random": RandomSampler,
    "calibrant": CalibratedSampler,
    "optuna-tpe": TPESampler,
    "optuna-gp": GPSampler,
}
TRIALS = 40
FIRST = 5
REPETITIONS = 30

Run = tuple[str, str, int]  # system, task, seed


def results() -> dict[Run, dict[str, Any]]:
    return {(r["system"], r["task"], r["seed"]): r for r in read_lines(RESULTS)}


def first_points(name: str, seed: int) -> list[dict[str, Any]]:
    """Return random settings: the same whatever the system."""
    task, rng = TASKS[name], np.random.default_rng(seed)
    count = max(1, len(task.reference))
    study = optuna.create_study(sampler=RandomSampler(seed=seed), directions=["minimize"] * count)
    study.optimize(lambda trial: task.objective(trial, rng), n_trials=FIRST, catch=(Failure,))
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def execute(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a run."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # that something is experimental
    task, rng = TASKS[name], np.random.default_rng([seed, 7])
    count = max(1, len(task.reference))
    study = optuna.create_study(
        study_name=f"{name} {seed}",  # Hyperband's brackets go by it
        sampler=SYSTEMS[system](seed=1000 + seed),
        pruner=task.pruner(),
        directions=["minimize"] * count,
    )
    for params in first_points(name, seed):
        study.enqueue_trial(params)
    began = time.process_time()
    study.optimize(lambda trial: task.objective(trial, rng), n_trials=TRIALS, catch=(Failure,))
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    return {
        "system": system,
        "task": name,
        "seed": seed,
        "regret": regret(task, study),
        "failed": states.count("FAIL"),
        "pruned": states.count("PRUNED"),
        "seconds": round(time.process_time() - began, 2),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    done = results()
    missing = [
        run
        for seed in range(REPETITIONS)
        for system in given.systems
        for task in TASKS
        if (run := (system, task, seed)) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
