"""What the criterion of several objectives was chosen by: python -m benchmarks.objectives.choices.

On the problems for choices, with other first points than those of the comparison.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import BaseSampler, GPSampler

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.objectives.problems import CHOICES
from benchmarks.objectives.run import search, volumes_of
from benchmarks.objectives.variants import VARIANTS

# Its best rival is there for the scale of differences.
SYSTEMS: dict[str, Callable[..., BaseSampler]] = {**VARIANTS, "optuna-gp": GPSampler}
RESULTS = Path(__file__).parent / "results" / "choices.jsonl"
FIRST_SEED, REPETITIONS = 100, 4


def results() -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return all runs that there are."""
    return {(r["system"], r["problem"], r["seed"]): r for r in read_lines(RESULTS)}


def execute(variant: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a run."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")
    Y = search(name, seed, SYSTEMS[variant](seed=1000 + seed))
    return {
        "system": variant,
        "problem": name,
        "seed": seed,
        "volumes": volumes_of(name, Y),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    done = results()
    missing = [
        run
        for seed in range(FIRST_SEED, FIRST_SEED + REPETITIONS)
        for problem in CHOICES
        for variant in SYSTEMS
        if (run := (variant, problem, seed)) not in done
    ]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
