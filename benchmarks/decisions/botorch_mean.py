"""BoTorch's best posterior mean on the same trials: `python -m benchmarks.decisions.botorch_mean`.

A rival of :mod:`benchmarks.decisions.recommend`, in an environment that has BoTorch: its default
model, fitted to the trials that are stored there; of the settings evaluated it takes the one with
the best posterior mean.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.decisions.recommend import BOTORCH, RESULTS, TASKS, mean_at
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit
from benchmarks.peers.adapters.worker import from_unit


def execute(record: dict[str, Any]) -> dict[str, Any]:
    """Return the true mean and the posterior mean of the setting that BoTorch would take."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    X = torch.tensor(record["X"], dtype=torch.double)
    y = torch.tensor(record["y"], dtype=torch.double)[:, None]
    model = SingleTaskGP(X, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        means = model.posterior(X).mean[:, 0].numpy()
    chosen = int(np.argmin(means))
    task = TASKS[record["task"]]
    space = sorted(task.space, key=lambda p: p["name"])  # as the columns of X are
    settings = {p["name"]: from_unit(p, u) for p, u in zip(space, record["X"][chosen], strict=True)}
    return {
        "task": record["task"],
        "noise": record["noise"],
        "seed": record["seed"],
        "true": float(f"{mean_at(task, settings):.6g}"),
        "stated": float(f"{means[chosen]:.6g}"),
        "commit": commit(),
    }


def main() -> None:
    known = {(r["task"], r["noise"], r["seed"]) for r in read_lines(BOTORCH)}
    for record in read_lines(RESULTS):
        if (record["task"], record["noise"], record["seed"]) not in known:
            append(BOTORCH, execute(record))


if __name__ == "__main__":
    main()
