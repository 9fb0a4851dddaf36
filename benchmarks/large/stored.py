"""Asks of a process that opens a study of thousands of stored trials.

    python -m benchmarks.large.stored

A study in an SQLite file holds n finished trials, each with its suggestion and its forecast, as a
long search leaves them. A new process opens it and asks: the first time it has all of it to read,
later only what is new. Results are JSON lines, one per process: CPU seconds of each ask, on one
thread, and SQL statements. A measurement that is in the results is not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from sqlalchemy import event

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import ONE_THREAD, commit
from benchmarks.speed.run import DIM, hartmann
from calibrant import CalibratedSampler
from calibrant.models import GaussianProcess
from calibrant.search.shown import Circumstances
from calibrant.search.step import Suggestion
from calibrant.studies import optuna_private
from calibrant.studies.archive import Archive
from calibrant.studies.shown import ShownForecasts
from calibrant.studies.suggestions import store

RESULTS = Path(__file__).parent / "results" / "stored.jsonl"
SIZES = (500, 2000, 5000)
SEEDS = range(3)
ASKS = 10
SAMPLERS = {
    "calibrant": lambda seed: CalibratedSampler(seed=seed),
    "Optuna TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
}
KEYS = ("system", "n", "seed")
SPACE = {f"x{i}": FloatDistribution(0.0, 1.0) for i in range(DIM)}
_LEARNED = 200  # outcomes that the forecasts of all later ones are made from


def fill(url: str, n: int) -> None:
    """Make a study of n trials: a third anywhere, the others ever closer to a good point."""
    rng = np.random.default_rng(0)
    centre = min(rng.random((3000, DIM)), key=hartmann)
    width = np.geomspace(0.3, 0.03, n)[:, None]
    near = np.clip(centre + width * rng.standard_normal((n, DIM)), 0.0, 1.0)
    X = np.where(np.arange(n)[:, None] % 3 == 0, rng.random((n, DIM)), near)
    y = np.array([hartmann(x) for x in X])
    forecasts = GaussianProcess().fit(X[:_LEARNED], y[:_LEARNED]).predict(X)
    study = optuna.create_study(storage=url, study_name="large")
    running, past = optuna.create_study(), optuna.create_study()  # in memory: to make notes with
    archive, shown = Archive(), ShownForecasts()
    began = datetime.now() - timedelta(seconds=60.0 * n)
    for number, x in enumerate(X):
        params = {name: float(value) for name, value in zip(SPACE, x, strict=True)}
        trial = running.ask()
        frozen = running.get_trials(deepcopy=False)[number]
        known = Circumstances(max(number, 1), DIM, share=float(rng.uniform(0.02, 0.6)))
        suggestion = Suggestion(x, (forecasts[number],) if number >= 5 else (), known)
        archive.update(past)
        shown.update(archive.records)
        interval = shown.interval(forecasts[number], known)
        store(running, frozen, params, suggestion, interval, shown.note(known))
        finished = optuna.create_trial(
            params=params,
            distributions=SPACE,
            value=float(y[number]),
            system_attrs=optuna_private.notes_of(running, trial),
        )
        finished.datetime_start = began + timedelta(seconds=60.0 * number)
        finished.datetime_complete = finished.datetime_start + timedelta(seconds=50.0)
        past.add_trial(finished)
        study.add_trial(finished)


def measure(url: str, system: str, seed: int) -> dict:
    """Return what asks of a new process cost."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="large", storage=url, sampler=SAMPLERS[system](seed))
    statements = [0]
    event.listen(
        study._storage._backend.engine,
        "before_cursor_execute",
        lambda *_: statements.__setitem__(0, statements[0] + 1),
    )
    seconds, counts = [], []
    for _ in range(ASKS):
        statements[0] = 0
        start = time.process_time()
        trial = study.ask(SPACE)
        seconds.append(round(time.process_time() - start, 4))
        counts.append(statements[0])
        study.tell(trial, hartmann(np.array([trial.params[name] for name in SPACE])))
    return {"seconds": seconds, "statements": counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=3, metavar=("URL", "SYSTEM", "SEED"))
    given = parser.parse_args()
    if given.measure:
        url, system, seed = given.measure
        print(json.dumps(measure(url, system, int(seed))))
        return
    done = {tuple(row[key] for key in KEYS) for row in read_lines(RESULTS)}
    for n in SIZES:
        plan = [(system, n, seed) for seed in SEEDS for system in SAMPLERS]
        if not (plan := [task for task in plan if task not in done]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            first = Path(folder) / "first.db"
            fill(f"sqlite:///{first}", n)
            for task in plan:
                copy = Path(folder) / "copy.db"  # asks add trials
                copy.write_bytes(first.read_bytes())
                child = [sys.executable, "-m", "benchmarks.large.stored", "--measure"]
                child += [f"sqlite:///{copy}", task[0], str(task[2])]
                printed = subprocess.check_output(child, env=os.environ | ONE_THREAD, text=True)
                found = json.loads(printed.splitlines()[-1])
                row = dict(zip(KEYS, task, strict=True)) | found | {"commit": commit()}
                append(RESULTS, row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
