"""Compare methods on a function with a known minimum: their best values and their intervals.

    python examples/compare_methods.py

All start from the same five points. The intervals are the model's own, from before each
evaluation: those that the search itself uses, not the calibrated ones that are shown to people.
"""

from __future__ import annotations

import numpy as np

from calibrant import Optimizer
from calibrant.acquisition import ConformalBound, ExpectedImprovement, QuantileBound
from calibrant.evaluation import metrics
from calibrant.models import BaggedProcesses, GaussianProcess, Kumaraswamy
from calibrant.test_functions import PROBLEMS

METHODS = {
    "calibrant's default": {},
    "uncalibrated": {"recalibrator": None},
    "confidence bound": {"acquisition": QuantileBound(level=0.05)},
    "conformal BO": {"acquisition": ConformalBound(), "recalibrator": None},
    "warped inputs": {"model": GaussianProcess(Kumaraswamy()), "recalibrator": None},
    "warped outcomes": {"model": GaussianProcess(outputs="tanh"), "recalibrator": None},
    "bagged ensemble": {"model": BaggedProcesses(), "acquisition": ExpectedImprovement()},
}


def main() -> None:
    """Run each method once and print a line about it."""
    problem = PROBLEMS["six-hump camel"]
    print(f"{problem.name}, minimum {problem.minimum:.4f}, 5 + 20 evaluations")
    first = np.random.default_rng(0).random((5, problem.dim))
    for name, parts in METHODS.items():
        optimizer = Optimizer(problem.dim, n_startup_trials=5, seed=0, **parts)
        for x in first:
            optimizer.tell(x, float(problem.on_cube(x)))
        for _ in range(20):
            x = optimizer.ask()
            optimizer.tell(x, float(problem.on_cube(x)))
        held = metrics.pit_coverage(optimizer.outcomes.pits, 0.8)
        print(f"{name:20} {optimizer.best[1]:8.4f}   80 % intervals held {held:.0%}")


if __name__ == "__main__":
    main()
