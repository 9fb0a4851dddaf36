"""Searches of 64 workers, against Optuna's samplers: `python -m benchmarks.faults.regret`.

Workers are simulated, as two cores cannot run 64: evaluations take a minute of a simulated clock,
more or less, and each ask takes as many of its seconds as it takes of CPU, on a core of its own.
What a sampler knows when it is asked is then what it would know with 64 machines. The first 64
points are the same for all, and evaluation k of a repetition takes equally long for all.

The plan: 4 tasks, 4 repetitions and 3 samplers, 25 core-minutes, most of them GPSampler's. Results
are JSON lines, one per search, and a search that is in them is not repeated.
"""

from __future__ import annotations

import heapq
import time
import warnings
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

from benchmarks.faults.run import RESULTS as FAULTS
from benchmarks.kinds.kinds import SYSTEMS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.peers.suite import TASKS

RESULTS = FAULTS.parent / "regret.jsonl"
WORKERS, EVALUATIONS = 64, 192
MINUTE, SPREAD = 60.0, 0.3  # seconds of an evaluation in the middle, and the std of their logarithm
TASK_NAMES = ("schwefel-4", "dixon-price-6", "zakharov-5, shifted 40", "griewank-8, shifted 41")
NAMES = ("calibrant", "optuna-tpe", "optuna-gp")
REPETITIONS = 4


def search(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return the best regret after each evaluation, when that ended, and what an ask cost."""
    task, rng = TASKS[name], np.random.default_rng([seed, 64])
    seconds = MINUTE * np.exp(SPREAD * rng.standard_normal(EVALUATIONS))
    study = optuna.create_study(sampler=SYSTEMS[system](seed))
    space = {p["name"]: FloatDistribution(p["low"], p["high"]) for p in task.space}
    running: list[tuple[float, int, optuna.Trial]] = []  # when it ends, its number, the trial
    for number, settings in enumerate(task.first(WORKERS, seed)):
        study.enqueue_trial(settings)
        heapq.heappush(running, (seconds[number], number, study.ask(space)))
    regrets, ends, asks = [], [], []
    for number in range(WORKERS, WORKERS + EVALUATIONS):
        now, _, trial = heapq.heappop(running)
        value = task.evaluate(trial.params, rng).mean
        study.tell(trial, value)
        regrets.append(value - task.minimum)
        ends.append(now)
        if number < EVALUATIONS:
            began = time.process_time()
            trial = study.ask(space)
            asks.append(time.process_time() - began)
            heapq.heappush(running, (now + asks[-1] + seconds[number], number, trial))
    return {
        "system": system,
        "task": name,
        "seed": seed,
        "regret": [float(f"{value:.6g}") for value in np.minimum.accumulate(regrets)],
        "ends": [round(end, 2) for end in ends],
        "ask": round(float(np.median(asks)), 4),
        "commit": commit(),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    done = {(row["system"], row["task"], row["seed"]) for row in read_lines(RESULTS)}
    for system in NAMES:
        for seed in range(REPETITIONS):
            for name in TASK_NAMES:
                if (system, name, seed) not in done:
                    append(RESULTS, found := search(system, name, seed))
                    print(system, name, seed, found["regret"][-1], found["ask"], flush=True)


if __name__ == "__main__":
    main()
