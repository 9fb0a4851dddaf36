"""The prior of shown intervals: fitted to searches on some tasks, judged on others.

    python -m benchmarks.peers.prior collect  # what is missing of the searches to learn from
    python -m benchmarks.peers.prior fit      # the numbers of src/calibrant/search/shown.py
    python -m benchmarks.peers.prior judge    # what is missing of the searches to judge it by
    python -m benchmarks.peers.prior tables   # coverage and CRPS in them: shown-intervals.md

It is fitted to the suite and to training jobs, and judged on the tasks held out with the suite and
on further ones. A search keeps 1, 4 or 16 evaluations running; the oldest ends first. A record to
learn from has, per forecast in the order of starting, the normal score of the outcome under the
model's own forecast and the circumstances that the prior knows. A record to judge by has PIT and
CRPS of the model's own forecast and of the one that was shown, and whether the interval stored with
the suggestion held.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.peers import variants
from benchmarks.peers.further import further
from benchmarks.peers.run import FIRST
from benchmarks.peers.suite import HELD_OUT, SUITE, TASKS, TUNING
from calibrant import CalibratedSampler, metrics, review
from calibrant.forecasts import Forecast
from calibrant.search.shown import LEVELS, Circumstances, features, residual_of
from calibrant.studies.archive import Archive, Record
from calibrant.studies.shown import ShownForecasts

OptunaStudy = variants.OptunaStudy

FOLDER = Path(__file__).parent / "results" / "prior"
SUITE_RESULTS, RESULTS = FOLDER / "suite.jsonl", FOLDER / "held-out.jsonl"
PAGE = Path(__file__).parent / "shown-intervals.md"
FURTHER = {task.name: task for task in further()}
JUDGED = (*HELD_OUT, *FURTHER)
BUDGET, WORKERS = 30, (1, 4, 16)
SUITE_SEEDS, SEEDS = range(300, 306), range(20)
WINDOWS = {"first five": slice(0, 5), "next ten": slice(5, 15), "later": slice(15, None)}
_FURTHEST = 10.0  # scores: further out they tell no more about the quantiles that are fitted


def fit() -> dict[str, list[float]]:
    """Return the prior's numbers, from the stored searches of the suite."""
    low, high, shape = _fit(list(read_lines(SUITE_RESULTS)))
    return {name: np.round(part, 3).tolist() for name, part in
            (("low", low), ("high", high), ("shape", shape))}  # fmt: skip


def _fit(rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, z = _known(rows)
    low, high = _ends(X, z)
    centre, scale = 0.5 * (X @ low + X @ high), 0.5 * (X @ high - X @ low) / 1.2816
    return low, high, np.quantile((z - centre) / scale, LEVELS)


@cache
def fitted(fold: int) -> Callable[[Circumstances], Forecast]:
    """Return the prior as it would be without the tasks of a fold."""
    rows = list(read_lines(SUITE_RESULTS))
    folds = fold_of_task(rows)
    numbers = _fit([r for r in rows if folds[r["task"]] != fold])
    return lambda known: residual_of(known, *numbers)


def _known(rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return features and scores of all forecasts."""
    X = np.array([features(Circumstances(*known)) for r in rows for known in r["known"]])
    return X, np.clip(np.concatenate([r["z"] for r in rows]), -_FURTHEST, _FURTHEST)


def _ends(X: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _quantile_regression(X, z, 0.1), _quantile_regression(X, z, 0.9)


def fold_of_task(rows: list[dict[str, Any]], folds: int = 6) -> dict[str, int]:
    """Return the fold in which each task is left out."""
    tasks = sorted({r["task"] for r in rows})
    order = np.random.default_rng(0).permutation(len(tasks)) % folds
    return dict(zip(tasks, order.tolist(), strict=True))


def _quantile_regression(X: np.ndarray, z: np.ndarray, p: float, blur: float = 0.05) -> np.ndarray:
    """Return coefficients of the p-quantile: the pinball loss, its kink blurred a little."""

    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        error = z - X @ coefficients
        below = 1.0 / (1.0 + np.exp(np.clip(error / blur, -50.0, 50.0)))
        value = p * error + blur * np.logaddexp(0.0, -error / blur)
        return float(value.mean()), -X.T @ (p - below) / z.size

    start = np.linalg.lstsq(X, z, rcond=None)[0]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def searched(task_name: str, workers: int, seed: int) -> Any:
    """Return the study of one search with some evaluations running."""
    task, rng = {**TASKS, **FURTHER}[task_name], np.random.default_rng([seed, 1])
    search = OptunaStudy(list(task.space), seed, BUDGET, CalibratedSampler(seed=seed))
    for settings in task.first(FIRST, seed):
        search.tell(settings, task.evaluate(settings, rng).outcome)
    running: deque[tuple[Any, float]] = deque()
    for _ in range(BUDGET - FIRST):
        settings = search.ask()
        trial, search._trial = search._trial, None
        running.append((trial, task.evaluate(settings, rng).outcome))
        if len(running) == workers:
            search.study.tell(*running.popleft())
    while running:
        search.study.tell(*running.popleft())
    return search.study


def forecast_records(study: Any) -> dict[int, Record]:
    """Return the trials that were forecast, in the order of starting."""
    archive = Archive()
    archive.update(study)
    return {n: r for n, r in sorted(archive.records.items()) if r.forecasts}


def execute_suite(task: str, workers: int, seed: int) -> dict[str, Any]:
    """Return scores and circumstances of one search of the suite."""
    records = forecast_records(searched(task, workers, seed)).values()
    z = [float(f"{r.scores[0]:.4g}") for r in records]
    known = [[json.loads(f"{number + 0:.3g}") for number in astuple(r.known)] for r in records]
    return {"task": task, "workers": workers, "seed": seed, "z": z, "known": known}


def execute(task: str, workers: int, seed: int) -> dict[str, Any]:
    """Return what is to be kept of one held-out search."""
    study = searched(task, workers, seed)
    return {"task": task, "workers": workers, "seed": seed, **_judged(study)}


def _judged(study: Any) -> dict[str, list[float]]:
    archive, shown = Archive(), ShownForecasts()
    archive.update(study)
    shown.update(archive.records)
    found = review(study)
    held = dict(zip(found.forecast_numbers, found.held.tolist(), strict=True))
    result: dict[str, list[float]] = {k: [] for k in ("pit", "shown_pit", "crps", "shown_crps")}
    for number, issued in sorted(shown.issued.items()):
        record = archive.records[number]
        y = record.values[0]
        for kind, forecast in (("", record.forecasts[0]), ("shown_", issued.calibrated)):
            result[f"{kind}pit"].append(round(float(forecast.cdf(y)), 4))
            result[f"{kind}crps"].append(float(f"{metrics.crps(forecast, y):.4g}"))
    return {**result, "held": [int(held[number]) for number in sorted(shown.issued)]}


def run(what: Any, path: Path, tasks: tuple[str, ...], seeds: range, jobs: int) -> None:
    """Run what is missing, and keep it with the commit that made it."""
    done = {(r["task"], r["workers"], r["seed"]) for r in read_lines(path)}
    missing = [
        one
        for seed in seeds
        for workers in WORKERS
        for task in tasks
        if (one := (task, workers, seed)) not in done
    ]
    here = commit()
    run_missing(what, missing, lambda r: append(path, {**r, "commit": here}), jobs, "searches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["collect", "fit", "judge", "tables"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    match given.what:
        case "collect":
            run(execute_suite, SUITE_RESULTS, (*SUITE, *TUNING), SUITE_SEEDS, given.jobs)
        case "fit":
            for name, numbers in fit().items():
                print(name, numbers)
        case "judge":
            run(execute, RESULTS, JUDGED, SEEDS, given.jobs)
        case "tables":
            from benchmarks.peers import prior_tables  # which reads this module

            prior_tables.write()


if __name__ == "__main__":
    main()
