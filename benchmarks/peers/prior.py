"""The prior of shown intervals: fitted to searches of the suite, judged on tasks held out from it.

    python -m benchmarks.peers.prior fit      # the numbers of src/calibrant/search/shown.py
    python -m benchmarks.peers.prior judge    # what is missing of the held-out searches
    python -m benchmarks.peers.prior tables   # coverage and CRPS on them: shown-intervals.md

A held-out search keeps 1, 4 or 16 evaluations running; the oldest ends first. A record has, per
forecast in the order of starting, the PIT and CRPS of the model's own forecast and of the one that
was shown, and whether the interval stored with the suggestion held.
"""

from __future__ import annotations

import argparse
import os
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.statistics import estimate_over_tasks
from benchmarks.kit.words import markdown_table
from benchmarks.peers import variants
from benchmarks.peers.run import FIRST
from benchmarks.peers.suite import HELD_OUT, TASKS
from calibrant import CalibratedSampler, metrics, review
from calibrant.studies.archive import Archive
from calibrant.studies.shown import COVERAGE, ShownForecasts

OptunaStudy = variants.OptunaStudy

RESULTS = Path(__file__).parent / "results" / "prior" / "held-out.jsonl"
PAGE = Path(__file__).parent / "shown-intervals.md"
BUDGET, REPETITIONS, WORKERS = 30, 20, (1, 4, 16)
LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])
_LEAST = 5e-5  # PITs are kept to four digits
WINDOWS = {"first five": slice(0, 5), "next ten": slice(5, 15), "later": slice(15, None)}


def fit() -> dict[str, list[float]]:
    """Return the prior's numbers, from the stored searches of the default."""
    rows = [r for r in variants.load("default") if len(r["pit"]) == BUDGET - FIRST]
    z = ndtri(np.clip([r["pit"] for r in rows], _LEAST, 1.0 - _LEAST))
    outcomes = np.arange(FIRST, BUDGET)
    dims = np.array([min(len(TASKS[r["task"]].space), 20) for r in rows])
    n = np.broadcast_to(np.log(outcomes / 12.0), z.shape)
    d = np.broadcast_to(np.log(dims / 4.0)[:, None], z.shape)
    kernels = [np.broadcast_to(outcomes % 3 == k, z.shape).astype(float) for k in range(3)]
    X = np.stack([*kernels, n, d, n * d], axis=-1)
    low, high = (_quantile_regression(X.reshape(-1, 6), z.ravel(), p) for p in (0.1, 0.9))
    centre, scale = 0.5 * (X @ low + X @ high), 0.5 * (X @ high - X @ low) / 1.2816
    shape = np.quantile((z - centre) / scale, LEVELS)
    return {name: np.round(part, 3).tolist() for name, part in
            (("low", low), ("high", high), ("shape", shape))}  # fmt: skip


def _quantile_regression(X: np.ndarray, z: np.ndarray, p: float, blur: float = 0.05) -> np.ndarray:
    """Return coefficients of the p-quantile: the pinball loss, its kink blurred a little."""

    def loss(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        error = z - X @ coefficients
        below = 1.0 / (1.0 + np.exp(np.clip(error / blur, -50.0, 50.0)))
        value = p * error + blur * np.logaddexp(0.0, -error / blur)
        return float(value.mean()), -X.T @ (p - below) / z.size

    start = np.linalg.lstsq(X, z, rcond=None)[0]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def execute(task_name: str, workers: int, seed: int) -> dict[str, Any]:
    """Return what is to be kept of one search."""
    task, rng = TASKS[task_name], np.random.default_rng([seed, 1])
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
    return {"task": task_name, "workers": workers, "seed": seed, **_judged(search.study)}


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


def judge(jobs: int) -> None:
    done = {(r["task"], r["workers"], r["seed"]) for r in load()}
    missing = [
        run
        for seed in range(REPETITIONS)
        for workers in WORKERS
        for task in HELD_OUT
        if (run := (task, workers, seed)) not in done
    ]
    here = commit()
    run_missing(
        execute, missing, lambda r: append(RESULTS, {**r, "commit": here}), jobs, "searches"
    )


def load() -> list[dict[str, Any]]:
    return list(read_lines(RESULTS)) if RESULTS.exists() else []


def section() -> list[str]:
    """Return the lines of the page about shown intervals on held-out tasks."""
    rows, table = load(), []
    for workers in WORKERS:
        mine = [r for r in rows if r["workers"] == workers]
        if not mine:
            continue
        by_task = {r["task"]: [o for o in mine if o["task"] == r["task"]] for r in mine}
        for name, part in {"all": slice(None), **WINDOWS}.items():
            share = estimate_over_tasks(
                [np.array([np.mean(r["held"][part]) for r in runs]) for runs in by_task.values()]
            )
            raw = np.mean([np.mean(np.abs(np.array(r["pit"])[part] - 0.5) <= 0.4) for r in mine])
            ratio = np.median(
                [np.mean(r["shown_crps"][part]) / np.mean(r["crps"][part]) for r in mine]
            )
            table.append(
                [str(workers), name, f"{raw:.1%}",
                 f"{share.mean:.1%} ({share.low:.1%} to {share.high:.1%})", f"{ratio:.3f}"]
            )  # fmt: skip
    head = [
        "at a time",
        "forecasts",
        "the model's own held",
        "shown held (95 %)",
        "CRPS, shown / own",
    ]
    return [
        "# Shown intervals on held-out tasks",
        "",
        f"{len(rows)} searches on {len(HELD_OUT)} held-out tasks, 25 forecasts each, with 1, 4 or",
        f"16 evaluations at a time; {COVERAGE:.0%} intervals as they were stored with suggestions.",
        "The prior was fitted to the 62 tasks of the suite, none of which is here. Ranges of the",
        "shares are over repetitions; the CRPS is the median over searches of shown / own.",
        "",
        markdown_table(head, table, text_columns=2),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fit", "judge", "tables"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.what == "fit":
        for name, numbers in fit().items():
            print(name, numbers)
    elif given.what == "judge":
        judge(given.jobs)
    else:
        PAGE.write_text("\n".join(section()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
