"""Searches on kinds of problems, by calibrant and others, from the same first points.

    python -m benchmarks.kinds.run              # all that is missing
    python -m benchmarks.kinds.run noise        # of one kind
    python -m benchmarks.kinds.run --learning   # tasks that choices may be made on, too

Results are JSON lines, one per search, and a search that is in them is not repeated.
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
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler

from benchmarks.kinds.kinds import FIRST, KINDS, SYSTEMS, Kind
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import file_name
from benchmarks.peers import run as peers
from benchmarks.peers.adapters.worker import active
from benchmarks.peers.rivals import RIVALS
from benchmarks.peers.tasks import Parameter, Settings, Task

RESULTS = Path(__file__).parent / "results"


def path(kind: str) -> Path:
    """Return where the results of a kind are."""
    return RESULTS / f"{file_name(kind)}.jsonl"


def execute(kind_name: str, system: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search: the lowest true mean so far, from the first points on.

    A rival of benchmarks/peers that fails has less of them, and what it said.
    """
    kind, found = KINDS[kind_name], {"system": system, "task": name, "seed": seed}
    task = kind.tasks[name]
    if system in SYSTEMS:
        means, seconds = _sampled(kind, SYSTEMS[system](seed), task, seed)
    else:
        run = peers.search(system, task, seed, kind.trials)
        means, seconds = run["values"], (run["seconds"] or 0.0) * (kind.trials - FIRST)
        if len(means) < FIRST:
            raise RuntimeError(f"{system} did not start on {name}: {run['error']}")
        if run["error"]:
            found["error"] = run["error"]
    return found | {
        "values": [float(f"{value:.9g}") for value in np.minimum.accumulate(means)[FIRST - 1 :]],
        "seconds": round(seconds, 2),
        "commit": commit(),
    }


def _sampled(kind: Kind, sampler: BaseSampler, task: Task, seed: int) -> tuple[list[float], float]:
    """Return the true means of a search's points, and the CPU seconds of its asks."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    noise, order = (np.random.default_rng([seed, k]) for k in (1, 2))
    study = optuna.create_study(sampler=sampler)
    space = {p["name"]: distribution(p) for p in task.space}
    means = []
    for anything in task.first(FIRST, seed):
        told, settings = task.evaluate(anything, noise), active(list(task.space), anything)
        means.append(told.mean)
        distributions = {name: space[name] for name in settings}
        study.add_trial(
            optuna.trial.create_trial(
                params=settings, distributions=distributions, value=told.outcome
            )
        )
    seconds, running = 0.0, []
    while len(means) < kind.trials:
        began = time.process_time()
        while len(running) < min(kind.running, kind.trials - len(means)):
            running.append(asked(study.ask(), task.space, space))
        seconds += time.process_time() - began
        trial = running.pop(int(order.integers(len(running))))
        told = task.evaluate(trial.params, noise)
        means.append(told.mean)
        study.tell(trial, told.outcome)
    return means, seconds


def distribution(parameter: Parameter) -> BaseDistribution:
    """Return what Optuna calls a parameter's range."""
    if parameter["type"] == "choice":
        return CategoricalDistribution(parameter["choices"])
    kind = FloatDistribution if parameter["type"] == "float" else IntDistribution
    return kind(parameter["low"], parameter["high"], log=parameter["log"])


def asked(
    trial: optuna.Trial, parameters: tuple[Parameter, ...], space: dict[str, BaseDistribution]
) -> optuna.Trial:
    """Return the trial with the parameters that exist, asked for one after the other."""
    found: Settings = {}
    for parameter in parameters:
        on, values = parameter.get("when", (None, ()))
        if on is None or found.get(on) in values:
            name = parameter["name"]
            found[name] = suggested(trial, name, space[name])
    return trial


def suggested(trial: optuna.Trial, name: str, within: BaseDistribution) -> Any:
    """Return the value that a trial has for a parameter."""
    if isinstance(within, CategoricalDistribution):
        return trial.suggest_categorical(name, within.choices)
    if isinstance(within, IntDistribution):
        return trial.suggest_int(name, within.low, within.high, log=within.log)
    assert isinstance(within, FloatDistribution)
    return trial.suggest_float(name, within.low, within.high, log=within.log)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    every = list(dict.fromkeys(system for kind in KINDS.values() for system in kind.systems))
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--systems", nargs="+", choices=every, default=every)
    parser.add_argument("--repetitions", type=int, default=None, help="at most so many of each")
    parser.add_argument("--learning", action="store_true", help="learning tasks, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    most = given.repetitions
    for kind_name in given.kinds:
        kind = KINDS[kind_name]
        done = {(r["system"], r["task"], r["seed"]) for r in read_lines(path(kind_name))}
        missing = [
            (kind_name, system, task, seed)
            for seed in range(kind.repetitions if most is None else min(most, kind.repetitions))
            for task in (kind.tasks if given.learning else kind.held_out)
            for system in kind.systems
            if system in given.systems and (system, task, seed) not in done
            if system in SYSTEMS or RIVALS[system].python.exists()
        ]
        run_missing(execute, missing, partial(append, path(kind_name)), given.jobs, kind_name)


if __name__ == "__main__":
    main()
