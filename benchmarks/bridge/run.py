"""Time an ask of BoTorch with and without calibration; results are JSON lines, one per measurement.

    python -m benchmarks.bridge.run --device cuda --sizes 1000 5000 10000

An ask: fit a SingleTaskGP, then maximise log expected improvement. Calibrated, it also scores all
outcomes by leave-one-out, makes the tables of the leader's residual and reads the improvement off
them. Both go on from the same fit and the same starting points; the maximiser's steps differ, as
the criteria do, so that one evaluation with its gradient is timed as well.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import botorch
import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.bridge import RESULTS
from benchmarks.kit.lines import append
from benchmarks.kit.running import commit
from calibrant.bridges.botorch import CalibratedLogExpectedImprovement, CalibratedModel
from calibrant.recalibration import LeaderRecalibrator

REPEATS = 7


def seconds(work: Callable[[], object]) -> float:
    """Return the time that some work takes, on whichever device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(n: int, device: str, seed: int) -> dict:
    """Return the times of the parts of an ask after n outcomes."""
    function = Hartmann(dim=6, noise_std=0.05, negate=True)
    generator = torch.Generator().manual_seed(seed)
    X = torch.rand(n, 6, generator=generator, dtype=torch.double)
    torch.manual_seed(seed)
    X, Y = X.to(device), function(X).unsqueeze(-1).to(device)
    model = SingleTaskGP(X, Y)
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit = seconds(lambda: fit_gpytorch_mll(likelihood))
    bounds = torch.stack([torch.zeros(6), torch.ones(6)]).to(X)
    best = Y.max().item()

    def plain() -> LogExpectedImprovement:
        return LogExpectedImprovement(model, best_f=best)

    def calibrated() -> CalibratedLogExpectedImprovement:
        ours = CalibratedModel.from_leave_one_out(model, LeaderRecalibrator())
        return CalibratedLogExpectedImprovement(ours, best_f=best)

    def prepared(make: Callable) -> None:
        make()(X[:1])  # the first reading makes the tables

    def asked(make: Callable) -> None:
        torch.manual_seed(seed)
        optimize_acqf(make(), bounds, q=1, num_restarts=10, raw_samples=512)

    def evaluated(acquisition: Callable) -> float:
        at = torch.rand(10, 1, 6, generator=torch.Generator().manual_seed(1)).to(X)

        def once() -> None:
            point = at.clone().requires_grad_()
            torch.autograd.grad(acquisition(point).sum(), point)

        return _median(once, 30)

    asked(plain), asked(calibrated)  # the first time loads kernels onto the device
    return {
        "fit": fit,
        "calibration": _median(lambda: prepared(calibrated)) - _median(lambda: prepared(plain)),
        "plain": _median(lambda: asked(plain)),
        "calibrated": _median(lambda: asked(calibrated)),
        "plain evaluation": evaluated(plain()),
        "calibrated evaluation": evaluated(calibrated()),
    }


def _median(work: Callable[[], object], repeats: int = REPEATS) -> float:
    return float(np.median([seconds(work) for _ in range(repeats)]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time asks with and without calibration.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 10_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    name = torch.cuda.get_device_name() if given.device == "cuda" else "CPU"
    for n in given.sizes:
        for seed in range(given.seeds):
            row = {"device": name, "n": n, "seed": seed, "torch": torch.__version__}
            row |= {"botorch": botorch.__version__, "commit": commit()}
            row |= measure(n, given.device, seed)
            append(given.results, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
