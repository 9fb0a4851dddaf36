"""Run rivals on tasks; results are JSON lines, one per run, and a finished run is not repeated.

    python -m benchmarks.peers.run                                   # all that is planned
    python -m benchmarks.peers.run --rivals hebo --tasks hartmann-6  # a part of it

A line says which rival met which task with which seed and budget, the mean outcomes of the points
it evaluated, and the CPU seconds of its asks. The first five points are told, the same to all. A
rival that raises or runs out of time has a line that says so; one that does not even start has
none, and what it said is printed.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import append, files, read_lines
from benchmarks.kit.running import ONE_THREAD, commit, run_missing
from benchmarks.peers.rivals import RIVALS, Rival, Run, plan
from benchmarks.peers.suite import TASKS
from benchmarks.peers.tasks import Task

RESULTS = Path(__file__).parent / "results"
FIRST = 5
TIME_LIMIT = 1800  # seconds of one run


class RivalFailed(Exception):
    """A rival raised, stopped answering or ended."""


class Worker:
    """A rival's process, which serves one run after the other."""

    def __init__(self, rival: Rival) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [rival.python, rival.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **ONE_THREAD, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"},
        )
        self.deadline = float("inf")

    def call(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RivalFailed("its process ended") from None
        left = max(0.0, self.deadline - time.monotonic())
        if not select.select([self._process.stdout], [], [], left)[0]:
            raise RivalFailed(f"more than {TIME_LIMIT} s")
        line = self._process.stdout.readline()
        if not line:
            raise RivalFailed("its process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RivalFailed(answer["error"])
        return answer

    def last_words(self) -> str:
        """Return the last line that the process wrote to its standard error."""
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip().rpartition("\n")[2]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()


_workers: dict[str, Worker] = {}  # of this process: the last rival's, kept for its next run


def execute(run: Run) -> dict[str, Any]:
    """Return what is to be kept of a run."""
    found = search(run.rival, TASKS[run.task], run.seed, run.budget)
    return {**run._asdict(), **found, "commit": commit()}


def search(rival: str, task: Task, seed: int, budget: int) -> dict[str, Any]:
    """Return the mean outcomes of the points of a search, and the mean CPU seconds of its asks.

    Where the rival failed, they are those until then, and ``error`` says how.
    """
    if rival not in _workers:
        for worker in _workers.values():
            worker.close()
        _workers.clear()
        _workers[rival] = Worker(RIVALS[rival])
        atexit.register(_workers[rival].close)
    worker = _workers[rival]
    rng = np.random.default_rng([seed, 1])
    means: list[float] = []
    seconds: list[float] = []
    error = None
    worker.deadline = time.monotonic() + TIME_LIMIT
    try:
        worker.call(start={"rival": rival, "space": task.space, "seed": seed, "budget": budget})
        points = task.first(FIRST, seed)
        for step in range(budget):
            if step < FIRST:
                settings = points[step]
            else:
                answer = worker.call(ask={})
                settings = answer["settings"]
                seconds.append(answer["seconds"])
            evaluation = task.evaluate(settings, rng)
            means.append(evaluation.mean)
            worker.call(tell={"settings": settings, "outcome": evaluation.outcome})
    except RivalFailed as problem:
        error, worker = str(problem), _workers.pop(rival)
        if not means:
            error = f"{error}. {worker.last_words()}"
        worker.close()
    return {
        "values": [float(f"{value:.7g}") for value in means],
        "seconds": round(float(np.mean(seconds)), 5) if seconds else None,
        "error": error,
    }


def keep(result: dict[str, Any]) -> None:
    """Append a result, unless the rival did not even start: its environment is to be mended."""
    if result["values"]:
        append(RESULTS / f"{result['rival']}.jsonl", result)
    else:
        print(f"{result['rival']} did not start on {result['task']}: {result['error']}")


def load() -> Iterator[dict[str, Any]]:
    """Yield all results."""
    for path in files(RESULTS):
        yield from read_lines(path)


def _without_data(tasks: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the tasks whose data is not there, with how to get it."""
    for name in tasks:
        task = TASKS[name]
        try:
            task.evaluate(task.first(1, 0)[0], np.random.default_rng(0))
        except (FileNotFoundError, ImportError) as problem:
            yield name, str(problem)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is planned and missing.")
    parser.add_argument("--rivals", nargs="+", choices=list(RIVALS), default=list(RIVALS))
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--budget", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    absent = dict(_without_data(given.tasks))
    for task, reason in absent.items():
        print(f"Left out: {task}. {reason}")
    done = {Run(r["rival"], r["task"], r["budget"], r["seed"]) for r in load()}
    missing = [
        run
        for run in plan()
        if run not in done
        and run.rival in given.rivals
        and run.task in given.tasks
        and run.task not in absent
        and run.budget in given.budget
        and RIVALS[run.rival].python.exists()
    ]
    run_missing(execute, [(run,) for run in missing], keep, given.jobs, title="runs")


if __name__ == "__main__":
    main()
