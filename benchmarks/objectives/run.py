"""Searches with several objectives, by calibrant and by others, from the same first points.

    python -m benchmarks.objectives.run

Results are JSON lines, one per run, and a run that is in them is not repeated. All systems have
their default settings; five first points are the same for all.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import Trial

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.objectives.problems import HELD_OUT, PROBLEMS
from benchmarks.objectives.variants import VARIANTS
from calibrant import CalibratedSampler
from calibrant.studies.asking import suggest

RESULTS = Path(__file__).parent / "results" / "objectives.jsonl"
SYSTEMS: dict[str, Callable[..., BaseSampler]] = {
    "random": RandomSampler,
    "calibrant": CalibratedSampler,
    "calibrant, ParEGO": VARIANTS["ParEGO"],
    "optuna-gp": GPSampler,
    "optuna-tpe": TPESampler,
    "optuna-nsga2": partial(NSGAIISampler, population_size=10),
}
TRIALS = 40
FIRST = 5
REPETITIONS = 30
RIVALS = ("botorch", "ax")  # of :mod:`benchmarks.objectives.rivals`
# Repetitions of each problem. A run of GPSampler takes a quarter of a minute, one of the others
# half a minute to a minute: two cores run these in half an hour.
PLANNED = {**dict.fromkeys(SYSTEMS, REPETITIONS), "optuna-gp": 5, "botorch": 5, "ax": 3}

Run = tuple[str, str, int]  # system, problem, seed


def results() -> dict[Run, dict[str, Any]]:
    """Return all runs that there are."""
    return {(r["system"], r["problem"], r["seed"]): r for r in read_lines(RESULTS)}


def first_points(name: str, seed: int) -> list[dict[str, Any]]:
    """Return random settings: the same whatever the system."""
    space = PROBLEMS[name].space
    study = optuna.create_study(sampler=RandomSampler(seed=seed))
    return [study.ask(dict(space)).params for _ in range(FIRST)]


def search(name: str, seed: int, sampler: BaseSampler) -> np.ndarray:
    """Return the outcomes of a search, (trials, objectives)."""
    problem = PROBLEMS[name]
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * len(problem.reference))
    for params in first_points(name, seed):
        study.enqueue_trial(params)

    def objective(trial: Trial) -> tuple[float, ...]:
        return problem.evaluate(suggest(trial, problem.space))

    study.optimize(objective, n_trials=TRIALS)
    return np.array([trial.values for trial in study.get_trials(deepcopy=False)])


def volumes_of(name: str, Y: np.ndarray) -> list[float]:
    """Return the volume dominated after each trial, to eight digits."""
    volumes = [PROBLEMS[name].volume(Y[: count + 1]) for count in range(len(Y))]
    return [float(f"{volume:.8g}") for volume in volumes]


def execute(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a run: the volume dominated after each trial."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # that something is experimental
    began = time.process_time()
    Y = search(name, seed, SYSTEMS[system](seed=1000 + seed))
    seconds = time.process_time() - began
    return {
        "system": system,
        "problem": name,
        "seed": seed,
        "volumes": volumes_of(name, Y),
        "seconds": round(seconds, 2),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--held-out", action="store_true", help="only on problems held out")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="at most so many")
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    done = results()
    missing = [
        run
        for seed in range(given.repetitions)
        for problem in (HELD_OUT if given.held_out else PROBLEMS)
        for system in given.systems
        if seed < PLANNED[system] and (run := (system, problem, seed)) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
