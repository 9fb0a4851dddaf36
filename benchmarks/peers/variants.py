"""calibrant with one thing changed at a time, on the tasks of the suite.

    python -m benchmarks.peers.variants                 # all that is missing
    python -m benchmarks.peers.variants "pi" "pi, raw"  # some of it

Beside the values reached, a line holds the PITs and the CRPS of the forecasts that were made before
each evaluation: the model's own, and recalibrated online without the prior of chosen points, as
they were shown before there was one; :mod:`benchmarks.peers.prior` has what is shown today.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit, run_missing
from benchmarks.kit.words import file_name
from benchmarks.peers.run import FIRST
from benchmarks.peers.suite import SUITE, TASKS
from calibrant import CalibratedSampler, GaussianRecalibrator
from calibrant.acquisition import ProbabilityOfImprovement, QuantileBound
from calibrant.evaluation import metrics
from calibrant.forecasts import Forecast
from calibrant.models import RBF, Additive, GaussianProcess, Kernel, Matern52, Rotation
from calibrant.recalibration import CalibrationSet, Recalibrator
from calibrant.search.defaults import SHOWN
from calibrant.studies.archive import Archive

sys.path.insert(0, str(Path(__file__).parent / "adapters"))  # as the rivals' own processes have it
from own import OptunaStudy

FOLDER = Path(__file__).parent / "variants"
BUDGET = 30


def sampler(name: str, seed: int) -> CalibratedSampler:
    """Return calibrant's default with something changed."""
    return CalibratedSampler(seed=seed, **VARIANTS[name])


# For each acquisition calibrated and not, everything else equal; then the ablation's changes.
PAIRS = {
    "expected improvement": ("default", "raw"),
    "probability of improvement": ("pi", "pi, raw"),
    "lower confidence bound": ("lcb", "lcb, raw"),
}
SHIFTED = {  # location, too, is corrected
    "probability of improvement": ("pi, location and scale", "pi, raw"),
    "lower confidence bound": ("lcb, location and scale", "lcb, raw"),
}
_PI, _LCB = ProbabilityOfImprovement(), QuantileBound()
# Scales by moments, as the default was when the ablation was made; then with location, too.
_GAUSSIAN = {
    "recalibrator": GaussianRecalibrator(strength=5.0, limit=2.5),
    "calibration_set": CalibrationSet(symmetric=True),
}
_SHIFTING = {
    "recalibrator": GaussianRecalibrator(strength=10.0, limit=2.5),
    "calibration_set": CalibrationSet(),
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "raw": {"recalibrator": None},
    "gaussian": _GAUSSIAN,
    "pi": {"acquisition": _PI},
    "pi, raw": {"acquisition": _PI, "recalibrator": None},
    "pi, location and scale": {"acquisition": _PI, **_SHIFTING},
    "lcb": {"acquisition": _LCB},
    "lcb, raw": {"acquisition": _LCB, "recalibrator": None},
    "lcb, location and scale": {"acquisition": _LCB, **_SHIFTING},
}


def _turns(*kernels: Kernel, **settings: Any) -> Rotation:
    return Rotation(tuple(GaussianProcess(kernel, **settings) for kernel in kernels))


_KERNELS = (Additive(), Additive(whole=RBF), Additive(per_dimension=True))
CHANGES: dict[str, dict[str, Any]] = {
    "one kernel, no turns: Matérn": {"model": _turns(Additive())},
    "one kernel, no turns: RBF": {"model": _turns(Additive(whole=RBF))},
    "one kernel, no turns: Matérn, a lengthscale a dimension": {
        "model": _turns(Additive(per_dimension=True))
    },
    "neither effects of single inputs nor level": {
        "model": _turns(Matern52(), RBF(), Matern52(per_dimension=True))
    },
    "no level: the mean of outcomes instead": {
        "model": _turns(*(replace(kernel, level=0.0) for kernel in _KERNELS))
    },
    "neither turns nor effects nor level": {"model": GaussianProcess()},
    "outcomes standardised": {"model": _turns(*_KERNELS, outputs="standardise")},
    "maximum likelihood, no priors": {"model": _turns(*_KERNELS, priors=None)},
    "a design of 12 points": {"n_startup_trials": 12},
    "no patience": {"patience": None},
    "shift learned too": {**_SHIFTING, "calibration_set": "leave-one-out"},
    "calibrated by a time series": {**_SHIFTING, "calibration_set": "time-series"},
    "calibrated by the points that were chosen": {**_SHIFTING, "calibration_set": "online"},
    "trust in the model worth 40 outcomes": {
        "recalibrator": GaussianRecalibrator(strength=20.0, limit=2.5)
    },
}
CHANGES = {name: _GAUSSIAN | change for name, change in CHANGES.items()}
VARIANTS |= CHANGES


def execute(name: str, task: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of one search."""
    study, values = search(name, task, seed)
    found = {"variant": name, "task": task, "seed": seed, "values": values}
    return found | _scores(forecasts(study)) | {"commit": commit()}


def search(name: str, task_name: str, seed: int) -> tuple[OptunaStudy, list[float]]:
    """Return a search and the mean outcomes of its points."""
    task = TASKS[task_name]
    rng = np.random.default_rng([seed, 1])
    study = OptunaStudy(list(task.space), seed, BUDGET, sampler(name, seed))
    points, values = task.first(FIRST, seed), []
    for step in range(BUDGET):
        settings = points[step] if step < FIRST else study.ask()
        evaluation = task.evaluate(settings, rng)
        values.append(float(f"{evaluation.mean:.7g}"))
        study.tell(settings, evaluation.outcome)
    return study, values


def forecasts(study: OptunaStudy) -> Iterator[tuple[Forecast, float]]:
    """Yield what the model forecast of each point before it was evaluated, and the outcome."""
    archive = Archive()
    archive.update(study.study)
    for record in archive.records.values():
        if record.values is not None and record.forecasts:
            yield record.forecasts[0], record.values[0]


def _scores(forecasts: Iterable[tuple[Forecast, float]]) -> dict[str, list[float]]:
    """Return PIT and CRPS of each forecast: the model's own, and as it would have been shown."""
    shown: Recalibrator = SHOWN
    found: dict[str, list[float]] = {k: [] for k in ("pit", "shown_pit", "crps", "shown_crps")}
    for raw, outcome in forecasts:
        for kind, forecast in (("", raw), ("shown_", shown.calibrate(raw))):
            found[f"{kind}pit"].append(round(float(forecast.cdf(outcome)), 4))
            found[f"{kind}crps"].append(float(f"{metrics.crps(forecast, outcome):.4g}"))
        shown = shown.observe(raw, outcome)
    return found


def load(name: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a variant."""
    yield from read_lines(_path(name))


def keep(result: dict[str, Any]) -> None:
    """Append a result to those of its variant."""
    append(_path(result["variant"]), result)


def _path(name: str) -> Path:
    return FOLDER / f"{file_name(name)}.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing of calibrant's variants.")
    parser.add_argument("variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--repetitions", type=int, default=30)
    given = parser.parse_args()
    missing = []
    for name in given.variants:
        done = {(r["task"], r["seed"]) for r in load(name)}
        missing += [
            (name, task, seed)
            for seed in range(given.repetitions)
            for task in SUITE
            if (task, seed) not in done
        ]
    run_missing(execute, missing, keep, given.jobs)


if __name__ == "__main__":
    main()
