"""Run what is missing of the problems: python -m benchmarks.problems.run costs noise

Results are JSON lines, one per run; a run that is in them is not repeated.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import optuna

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing

KINDS = ("noise", "costs")
FOLDER = Path(__file__).parent / "results"
LEARNING_REPETITIONS = 8

Run = tuple[str, str, str, int]  # kind, system, task, seed


def results(kind: str) -> dict[tuple[str, str, int], dict[str, Any]]:
    found = read_lines(FOLDER / f"{kind}.jsonl")
    return {(r["system"], r["task"], r["seed"]): r for r in found}


def planned(kind: str) -> Iterator[tuple[str, str, int]]:
    """Yield the system, the task and the seed of all runs of a kind, the learning tasks' first."""
    problem = import_module(f"benchmarks.problems.{kind}")
    for seed in range(LEARNING_REPETITIONS):
        for task in problem.LEARNING:
            for system in problem.VARIANTS:
                yield system, task, seed
    for seed in range(problem.REPETITIONS):
        for task in problem.JUDGED:
            for system in problem.SYSTEMS:
                yield system, task, seed


def execute(kind: str, system: str, task: str, seed: int) -> dict[str, Any]:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")  # that something is experimental
    done = import_module(f"benchmarks.problems.{kind}").execute(system, task, seed)
    return {**done, "commit": commit()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--systems", nargs="*", help="these alone, such as those installed here")
    parser.add_argument("--tasks", nargs="*", help="these alone")
    given = parser.parse_args()
    for kind in given.kinds:
        done = results(kind)
        missing = [
            (kind, *run)
            for run in planned(kind)
            if run not in done
            and (given.systems is None or run[0] in given.systems)
            and (given.tasks is None or run[1] in given.tasks)
        ]
        run_missing(execute, missing, partial(append, FOLDER / f"{kind}.jsonl"), given.jobs)


if __name__ == "__main__":
    main()
