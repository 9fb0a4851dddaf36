"""Run rivals on tasks; results are JSON lines, one a run, and a finished run is not repeated.

    python -m benchmarks.peers.run --rivals calibrant optuna-tpe --budget 30 --repetitions 20

A line says which rival met which task with which seed and budget, what the noise-free values of the
points it evaluated were, and how many CPU seconds its asks took. The first five points are told,
the same to all. A rival that raises or runs out of time has a line that says so.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.rivals import RIVALS
from benchmarks.peers.suite import TASKS

RESULTS = Path(__file__).parent / "results"
FIRST = 5
TIME_LIMIT = 1800  # seconds of one run


class Run(NamedTuple):
    """One rival on one task, once."""

    rival: str
    task: str
    budget: int
    seed: int


def execute(run: Run) -> dict[str, Any]:
    """Return what is to be kept of a run."""
    task = TASKS[run.task]
    noise = np.random.default_rng([run.seed, 1])
    values: list[float] = []
    seconds: list[float] = []
    error = None
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(TIME_LIMIT)
    try:
        rival = RIVALS[run.rival](task.space, run.seed)
        points = task.first(FIRST, run.seed)
        for step in range(run.budget):
            began = time.process_time()
            settings = points[step] if step < FIRST else rival.ask()
            if step >= FIRST:
                seconds.append(time.process_time() - began)
            values.append(task.value(settings))
            rival.tell(settings, task.outcome(settings, noise))
    except Exception as problem:  # a rival's failure is a result
        error = f"{type(problem).__name__}: {problem}"
    finally:
        signal.alarm(0)
    return {
        **run._asdict(),
        "values": [float(f"{value:.7g}") for value in values],
        "seconds": [round(s, 4) for s in seconds],
        "error": error,
    }


def _out_of_time(*_: Any) -> None:
    raise TimeoutError(f"more than {TIME_LIMIT} s")


def load() -> Iterator[dict[str, Any]]:
    """Yield all results."""
    for path in sorted(RESULTS.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run rivals on tasks.")
    parser.add_argument("--rivals", nargs="+", choices=list(RIVALS), default=list(RIVALS))
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    done = {Run(r["rival"], r["task"], r["budget"], r["seed"]) for r in load()}
    missing = [
        run
        for seed in range(given.repetitions)
        for task in given.tasks
        for rival in given.rivals
        if (run := Run(rival, task, given.budget, seed)) not in done
    ]
    RESULTS.mkdir(exist_ok=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        for number, future in enumerate(as_completed(pool.submit(execute, run) for run in missing)):
            result = future.result()
            with (RESULTS / f"{result['rival']}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(result, separators=(",", ":")) + "\n")
            if number % 100 == 0:
                print(
                    f"{number} of {len(missing)}: {result['rival']} on {result['task']}", flush=True
                )


if __name__ == "__main__":
    main()
