"""Asks of many workers on one PostgreSQL server: `python -m benchmarks.faults.asks`.

Each worker is a process; an evaluation sleeps for 4 to 8 s. The study begins with 100 outcomes, so
that all asks are of a model. Results are JSON lines, one per number of workers.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.trial import Trial
from sqlalchemy import event

import calibrant
from benchmarks.faults.postgres import missing, postgres
from benchmarks.faults.run import RESULTS as FAULTS
from benchmarks.faults.workers import NAME, SPACE, fork
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit

RESULTS = FAULTS.parent / "asks.jsonl"
WORKERS = (1, 8, 16, 64)
SECONDS = 60.0  # of each measurement
FIRST = 100  # outcomes before it


def _work(url: str, log: Path) -> None:
    """Ask, sleep and tell; write what each ask but the first cost to a log."""
    random.seed(os.getpid())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = calibrant.open_storage(url)
    sampler = calibrant.CalibratedSampler(search_space=SPACE)
    study = optuna.load_study(study_name=NAME, storage=storage, sampler=sampler)
    statements = [0]

    def count(*_: Any) -> None:
        statements[0] += 1

    event.listen(storage.inside._backend.engine, "before_cursor_execute", count)
    free = [time.monotonic(), time.process_time(), 0]
    lines: list[str] = []

    def objective(trial: Trial) -> float:
        x = np.array([trial.suggest_float(name, 0.0, 1.0) for name in SPACE])
        waited, spent = time.monotonic() - free[0], time.process_time() - free[1]
        lines.append(json.dumps([round(waited, 4), round(spent, 4), statements[0] - free[2]]))
        time.sleep(random.uniform(4.0, 8.0))
        return float(((x - 0.3) ** 2).sum())

    def after(study: optuna.Study, trial: Any) -> None:
        free[:] = time.monotonic(), time.process_time(), statements[0]

    time.sleep(random.uniform(0.0, 6.0))  # they do not all start at once
    after(study, None)
    study.optimize(objective, timeout=SECONDS, callbacks=[after])
    with log.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines[1:]))


def measure(workers: int) -> dict[str, Any]:
    """Return what asks of so many workers cost."""
    with tempfile.TemporaryDirectory() as name, postgres() as server:
        url, log = server.url("asks"), Path(name) / "log"
        storage = calibrant.open_storage(url)
        study = optuna.create_study(storage=storage, study_name=NAME)
        for x in np.random.default_rng(0).random((FIRST, len(SPACE))):
            params = dict(zip(SPACE, map(float, x), strict=True))
            value = float(((x - 0.3) ** 2).sum())
            study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
        storage.inside._backend.engine.dispose()  # not to be shared with those that are forked
        every = [fork(lambda: _work(url, log), Path(name) / "errors") for _ in range(workers)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in every]
        table = np.array([json.loads(line) for line in log.read_text().splitlines()])
    return {
        "workers": workers,
        "asks": len(table),
        "crashed": sum(code != 0 for code in codes),
        "per_second": round((len(table) + workers) / SECONDS, 2),
        "latency": np.quantile(table[:, 0], [0.5, 0.95]).round(3).tolist(),
        "cpu": round(float(np.median(table[:, 1])), 4),
        "statements": float(np.median(table[:, 2])),
        "commit": commit(),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    if why := missing():
        print(f"left out: {why}")
        return
    done = {row["workers"] for row in read_lines(RESULTS)}
    for workers in WORKERS:
        if workers not in done:
            append(RESULTS, found := measure(workers))
            print(found)


if __name__ == "__main__":
    main()
