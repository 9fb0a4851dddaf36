"""Time one ask after n tells; results are JSON lines, one per measurement.

    python -m benchmarks.speed.run

Every measurement runs in a process of its own, on one thread, one after the other; times are CPU
seconds. A measurement that is in the results is not repeated: delete the file to start again.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.kit.lines import append, read_lines

RESULTS = Path(__file__).parent / "results" / "speed.jsonl"
SIZES = (10, 30, 100, 200, 500, 1000)
OVERHEAD_SIZES = (30, 100, 500)
DIM = 6
SEEDS = (0, 1, 2)


def main() -> None:
    if len(sys.argv) > 1:  # a child: measure one thing
        task = json.loads(sys.argv[1])
        parts = {"ask": ask, "refit": refit, "overhead": overhead, "import": imports}
        print(json.dumps(parts[task["part"]](task)))
        return
    # Not for a child, which may be there to time what is loaded.
    from benchmarks.kit.running import ONE_THREAD, commit
    from benchmarks.speed.samplers import SAMPLERS

    tasks = [
        {"part": "ask", "system": system, "n": n, "seed": seed}
        for n in SIZES
        for seed in SEEDS[: 3 if n <= 500 else 1]
        for system in SAMPLERS
    ]
    tasks += [{"part": "refit", "n": n} for n in SIZES[2:]]
    tasks += [{"part": "overhead", "n": n} for n in OVERHEAD_SIZES]
    tasks += [{"part": "import", "repetition": r} for r in range(7)]
    done = {
        json.dumps({key: row[key] for key in row if key in TASK_KEYS})
        for row in read_lines(RESULTS)
    }
    for task in tasks:
        if json.dumps(task) in done:
            continue
        child = [sys.executable, "-m", "benchmarks.speed.run", json.dumps(task)]
        printed = subprocess.check_output(child, env=os.environ | ONE_THREAD, text=True)
        row = task | json.loads(printed.splitlines()[-1]) | {"commit": commit()}
        append(RESULTS, row)
        print(row, flush=True)


TASK_KEYS = ("part", "system", "n", "seed", "repetition")


def hartmann(x: np.ndarray) -> float:
    """Hartmann's function of six variables: a smooth landscape with six minima."""
    weights = np.array([1.0, 1.2, 3.0, 3.2])
    scale = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
                      [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
    centre = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886],
                              [2329, 4135, 8307, 3736, 1004, 9991],
                              [2348, 1451, 3522, 2883, 3047, 6650],
                              [4047, 8828, 8732, 5743, 1091, 381]])  # fmt: skip
    return float(-(weights * np.exp(-(scale * (x - centre) ** 2).sum(axis=1))).sum())


def a_study(system: str, n: int, seed: int):
    """Return a study with n random trials, and its space."""
    import optuna
    from optuna.distributions import FloatDistribution

    from benchmarks.speed.samplers import SAMPLERS

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(DIM)}
    study = optuna.create_study(sampler=SAMPLERS[system](seed))
    for x in np.random.default_rng(seed).random((n, DIM)):
        params = {f"x{i}": float(u) for i, u in enumerate(x)}
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=hartmann(x)))
    return study, space


def ask(task: dict) -> dict:
    """Time asks of a study that starts with n random trials and grows by each."""
    warnings.simplefilter("ignore")
    study, space = a_study(task["system"], task["n"], task["seed"])
    asks = 21 if task["n"] <= 200 else (11 if task["n"] <= 500 else 6)
    seconds = []
    for _ in range(asks):
        start = time.process_time()
        trial = study.ask(space)
        seconds.append(round(time.process_time() - start, 6))
        study.tell(trial, hartmann(np.array([trial.params[name] for name in space])))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": seconds[0], "seconds": seconds[1:], "peak_mb": round(peak, 1)}


def a_history(n: int):
    """Return what n random evaluations tell, and the cube they are on."""
    from calibrant.core import Cube
    from calibrant.search.history import History

    X = np.random.default_rng(0).random((n, DIM))
    Y = np.array([[hartmann(x)] for x in X])
    return replace(History.empty(DIM), X=X, Y=Y, constraints=np.empty((n, 0))), Cube.continuous(DIM)


def refit(task: dict) -> dict:
    """Time fitting hyper-parameters again, from where they were a tenth fewer outcomes ago."""
    from calibrant.search.step import Policy

    history, cube = a_history(task["n"])
    known = int(task["n"] / 1.1)
    before = replace(
        history, X=history.X[:known], Y=history.Y[:known], constraints=np.empty((known, 0))
    )
    policy = Policy()
    fits = policy.fit(policy.prepare(before, cube), cube)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        policy.fit(policy.prepare(history, cube), cube, fits)
        seconds.append(round(time.process_time() - start, 6))
    return {"seconds": seconds}


def overhead(task: dict) -> dict:
    """Time choosing from one history, calibrated and not, in turns."""
    from calibrant.search.step import Policy

    history, cube = a_history(task["n"])
    policies = {"calibrated": Policy(), "uncalibrated": Policy(recalibrator=None)}
    fits = {
        name: policy.fit(policy.prepare(history, cube), cube) for name, policy in policies.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in policies}
    repetitions = 101 if task["n"] <= 200 else 31
    for seed in range(repetitions):
        for name, policy in policies.items():
            start = time.process_time()
            policy.suggest(history, cube, np.random.default_rng(seed), fits[name])
            seconds[name].append(round(time.process_time() - start, 6))
    return seconds


def imports(task: dict) -> dict:
    """Time what importing calibrant adds to importing what it stands on."""
    start = time.perf_counter()
    import numpy  # noqa: F401
    import optuna  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.special  # noqa: F401

    below = time.perf_counter()
    import calibrant

    package = time.perf_counter()
    _ = calibrant.CalibratedSampler
    sampler = time.perf_counter()
    return {
        "below": round(below - start, 4),
        "package": round(package - below, 4),
        "sampler": round(sampler - package, 4),
    }


if __name__ == "__main__":
    main()
