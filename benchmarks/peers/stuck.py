"""Searches that get stuck in tuning: how often, and what was tried against it.

    python -m benchmarks.peers.stuck          # what is missing, one JSON line per search
    python -m benchmarks.peers.stuck page     # stuck.md

A search counts as stuck if it ends behind the mean of random search. Tasks are training jobs and
tables of real ones. The plan: 40 core-minutes, of which Optuna's GPSampler takes half.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler, GPSampler, TPESampler

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import estimate_over_tasks, paired_p
from benchmarks.kit.words import interval, markdown_table, p_value, signed
from benchmarks.peers.regret import scales
from benchmarks.peers.suite import HELD_OUT, SUITE, TASKS, TUNING
from benchmarks.peers.variants import BUDGET, FIRST, OptunaStudy
from calibrant import CalibratedSampler
from calibrant.core.words import percent
from calibrant.models import RBF, Additive, GaussianProcess, Matern52, Rotation

RESULTS = Path(__file__).parent / "stuck.jsonl"
PAGE = Path(__file__).parent / "stuck.md"
OURS = "calibrant"
REPETITIONS = 10
FEWER = {"optuna-gp": 4}  # it takes seconds a search
SLOW = {"boosting on breast cancer", "forest on digits", "forest on wine"}  # to evaluate

_KERNELS = (Additive(), Additive(whole=RBF), Additive(per_dimension=True))
_BENT = tuple(GaussianProcess(kernel) for kernel in _KERNELS)
_AS_THEY_ARE = tuple(GaussianProcess(kernel, outputs="standardise") for kernel in _KERNELS)
# Bent and not in turns, each kernel both ways.
_BOTH = tuple(
    process for i in range(6) for process in [(_BENT, _AS_THEY_ARE)[i % 2][i % len(_KERNELS)]]
)
_PLAIN = GaussianProcess(Matern52(per_dimension=True), outputs="standardise")

CHANGES: dict[str, dict[str, Any]] = {
    "patience of 5": {"patience": 5},
    "outcomes standardised": {"model": Rotation(_AS_THEY_ARE)},
    "every other turn standardised": {"model": Rotation(_BOTH)},
    "every other turn standardised, patience of 5": {"model": Rotation(_BOTH), "patience": 5},
    "a turn of a plain Matérn process": {"model": Rotation((*_BENT[:2], _PLAIN))},
}
SYSTEMS: dict[str, Callable[[int], BaseSampler]] = {
    OURS: lambda seed: CalibratedSampler(seed=seed),
    **{name: partial(CalibratedSampler, **change) for name, change in CHANGES.items()},
    "optuna-gp": lambda seed: GPSampler(seed=seed, n_startup_trials=FIRST),
    "optuna-tpe": lambda seed: TPESampler(seed=seed, n_startup_trials=FIRST),
}
_REAL = [name for name in SUITE if TASKS[name].groups & {"tables", "live"}]
LEARNING = [name for name in (*TUNING, *_REAL) if name not in SLOW]
JUDGED = [name for name in HELD_OUT if TASKS[name].groups & {"tables", "live"}]


def execute(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search: the mean outcomes of its points, as they come."""
    task, rng = TASKS[name], np.random.default_rng([seed, 1])
    study = OptunaStudy(list(task.space), seed, BUDGET, SYSTEMS[system](seed=seed))
    points, values = task.first(FIRST, seed), []
    for step in range(BUDGET):
        settings = points[step] if step < FIRST else study.ask()
        evaluation = task.evaluate(settings, rng)
        values.append(evaluation.mean)
        study.tell(settings, evaluation.outcome)
    least = [float(f"{value:.6g}") for value in np.minimum.accumulate(values)[FIRST - 1 :]]
    found = {"system": system, "task": name, "seed": seed, "values": least}
    return found | {"commit": commit()}


def plan(system: str) -> list[tuple[str, str, int]]:
    """Return the searches of a system; what was only tried is not judged."""
    tasks = LEARNING if system in CHANGES else [*LEARNING, *JUDGED]
    times = FEWER.get(system, REPETITIONS)
    return [(system, task, seed) for seed in range(times) for task in tasks]


def regrets() -> dict[str, dict[tuple[str, int], float]]:
    """Return normalised regrets by system, then by task and seed."""
    rows = list(read_lines(RESULTS))
    known, found = scales(), dict[str, dict[tuple[str, int], float]]()
    lowest = {name: known[name].minimum for name in known}
    for row in rows:  # of a live task nobody knows the minimum
        lowest[row["task"]] = min(lowest[row["task"]], row["values"][-1])
    for row in rows:
        scale = known[row["task"]]
        unit = scale.unit + scale.minimum - lowest[row["task"]]
        left = (row["values"][-1] - lowest[row["task"]]) / unit
        found.setdefault(row["system"], {})[row["task"], row["seed"]] = left
    return found


def table(tasks: list[str], systems: list[str]) -> str:
    """Return a table of systems, each paired with calibrant's searches from the same points."""
    found = regrets()
    ours = found[OURS]
    rows = []
    for system in systems:
        theirs = {key: left for key, left in found.get(system, {}).items() if key[0] in tasks}
        if {task for task, _ in theirs} != set(tasks):
            continue
        by_task = [np.array([v for (t, _), v in theirs.items() if t == task]) for task in tasks]
        every = np.concatenate(by_task)
        pairs = [
            np.array([left - ours[key] for key, left in theirs.items() if key[0] == task])
            for task in tasks
        ]
        rows.append(
            [
                f"**{system}**" if system == OURS else system,
                str(every.size),
                interval(estimate_over_tasks(by_task)),
                f"{np.median(every):.3f}",
                f"{np.sort(every)[-max(1, every.size // 10) :].mean():.2f}",
                percent(float(np.mean(every > 1.0))),
                "" if system == OURS else signed(estimate_over_tasks(pairs)),
                "" if system == OURS else p_value(paired_p(np.concatenate(pairs))),
            ]
        )
    return markdown_table(COLUMNS, rows)


COLUMNS = (
    "system",
    "searches",
    "mean regret (95 %)",
    "median",
    "worst tenth",
    "stuck",
    "it less calibrant (95 %)",
    "p",
)


def page() -> str:
    """Return the page."""
    return f"""\
# Stuck searches

Some searches of a tuning job stay where random search would have been better. Here are {len(LEARNING)} training jobs and tables of
real ones that may be learned from, and {len(JUDGED)} that are held out; 30 evaluations, the first five the same for all. Regret is 0 at the
lowest outcome known and 1 at what random search leaves on average ([units](units.json)); a search with more than 1 is *stuck*. Differences are
paired by task and first points, p is Wilcoxon's, not corrected. `python -m benchmarks.peers.stuck` runs what is missing,
`python -m benchmarks.peers.stuck page` rewrites this page; raw results: [stuck.jsonl](stuck.jsonl).

## Held-out tasks

{table(JUDGED, [OURS, "optuna-gp", "optuna-tpe"])}

## Tasks to learn from, and what was tried

{table(LEARNING, list(SYSTEMS))}

**The mechanism.** Outcomes of a plateau differ little. Once most outcomes of a search lie on it, the map that makes outcomes look
Gaussian spreads these differences over most of the model's units, the search refines them, and each tiny gain
says that it is getting on. "elastic net on diabetes" shows it: with the first degree of polynomials all outcomes are 54.9 to 55.0, and a search
that starts there looks at the second degree, which has 53.7, once in 25 evaluations.

**What was tried.** Models of outcomes that are only standardised leave such plateaus and lose elsewhere, as on functions with steep walls: taking
turns with them gains on these tasks about what it loses on the functions of the suite. None of the changes above is ahead of the default
beyond chance here. Three prototypes, ten searches of each task, did no better: fitting the map to
outcomes weighted by how much of the space each stands for (the volume of its Voronoi cell; +0.010 ± 0.024), a model of standardised outcomes for every other
suggestion once three were in vain (−0.012 ± 0.020; functions +0.006 ± 0.013), and the same where gains of less than 0.003 std do not count
(−0.006 ± 0.019; functions +0.019 ± 0.015). A dozen other changes are on [a page of their own](screening.md).
So the default is as it was, and **stuck searches are not mended**.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing, or write the page.")
    parser.add_argument("what", nargs="?", choices=("run", "page"), default="run")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.what == "page":
        PAGE.write_text(page(), encoding="utf-8")
        return
    done = {(r["system"], r["task"], r["seed"]) for r in read_lines(RESULTS)}
    missing = [one for system in given.systems for one in plan(system) if one not in done]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
