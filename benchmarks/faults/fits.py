"""How much of an ask sharing fits could save: `python -m benchmarks.faults.fits`.

A worker asks; between two of its asks each of the others has told one outcome. What could be shared
among the workers of a machine are hyper-parameters: all else follows from them and the outcomes.
Results are JSON lines, one per number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

import calibrant
from benchmarks.faults.run import RESULTS as FAULTS
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from calibrant.models.gp import GaussianProcess

RESULTS = FAULTS.parent / "fits.jsonl"
WORKERS = (1, 8, 16, 64)
FIRST, ASKS = 200, 8  # outcomes before the first ask that counts; asks that count
SPACE = {name: FloatDistribution(0.0, 1.0) for name in "abcd"}


def _value(params: dict[str, Any]) -> float:
    bowl = sum((i + 1) * (x - 0.3) ** 2 for i, x in enumerate(params.values()))
    return float(bowl + np.sin(9.0 * params["a"]))


def _tell(study: optuna.Study, count: int, rng: np.random.Generator) -> None:
    """Add outcomes of others."""
    for _ in range(count):
        params = {name: float(rng.random()) for name in SPACE}
        value = _value(params)
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))


def measure(workers: int) -> dict[str, Any]:
    """Return the CPU of an ask with so many workers, and how much of it hyper-parameters take."""
    rng, spent = np.random.default_rng(0), [0.0]
    learned: Callable[..., Any] = GaussianProcess._learned

    def timed(*arguments: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return learned(*arguments, **named)
        finally:
            spent[0] += time.process_time() - began

    study = optuna.create_study(sampler=calibrant.CalibratedSampler(search_space=SPACE, seed=0))
    _tell(study, FIRST, rng)
    asks = []
    with patch.object(GaussianProcess, "_learned", timed):
        for number in range(ASKS + 3):  # three processes in rotation: each is fitted once before
            _tell(study, workers - 1, rng)
            if number == 3:
                asks, spent[0] = [], 0.0
            began = time.process_time()
            trial = study.ask(SPACE)
            asks.append(time.process_time() - began)
            study.tell(trial, _value(trial.params))
    return {
        "workers": workers,
        "outcomes": len(study.trials),
        "ask": round(float(np.mean(asks)), 4),
        "fit": round(spent[0] / len(asks), 4),
        "commit": commit(),
    }


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    done = {row["workers"] for row in read_lines(RESULTS)}
    for workers in WORKERS:
        if workers not in done:
            append(RESULTS, found := measure(workers))
            print(found)


if __name__ == "__main__":
    main()
