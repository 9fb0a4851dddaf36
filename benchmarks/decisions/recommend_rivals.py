"""What BoTorch and Ax recommend on the same trials.

    python -m benchmarks.decisions.recommend_rivals            # what is missing, of both
    python -m benchmarks.decisions.recommend_rivals ax --repetitions 4

Rivals of :mod:`benchmarks.decisions.recommend`, on the trials that are stored there, in an
environment that has both (``make test-torch`` makes one). BoTorch: of the settings evaluated, the
one with the best posterior mean of its default model. Ax: what its client returns as the best
setting by its model, which it has fitted once it was asked for a trial.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.decisions.recommend import RESULTS, RIVALS, TASKS, mean_at, settings_by_name
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import commit

REPETITIONS = 10


class Choice(NamedTuple):
    """The number of the trial that a system would take, and what it says its setting gives."""

    trial: int
    stated: float


def botorch(record: dict[str, Any]) -> Choice:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X = torch.tensor(record["X"], dtype=torch.double)
    y = torch.tensor(record["y"], dtype=torch.double)[:, None]
    model = SingleTaskGP(X, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        means = model.posterior(X).mean[:, 0].numpy()
    chosen = int(np.argmin(means))
    return Choice(chosen, float(means[chosen]))


def ax(record: dict[str, Any]) -> Choice:
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig

    names = [f"x{i}" for i in range(len(record["X"][0]))]
    client = Client(random_seed=0)
    client.configure_experiment([RangeParameterConfig(name, (0.0, 1.0), "float") for name in names])
    client.configure_optimization("-value")
    client.configure_generation_strategy(initialization_budget=0)
    for x, y in zip(record["X"], record["y"], strict=True):
        trial = client.attach_trial(dict(zip(names, x, strict=True)))
        client.complete_trial(trial, {"value": y})
    client.get_next_trials(max_trials=1)  # until then it has no model, and names the best value
    _, said, trial, _ = client.get_best_parameterization()
    return Choice(trial, float(said["value"][0]))


ASK: dict[str, Callable[[dict[str, Any]], Choice]] = {"botorch": botorch, "ax": ax}


def execute(rival: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return what the setting that a rival takes is said to give, and what it gives."""
    import torch

    warnings.simplefilter("ignore")
    logging.disable()
    torch.manual_seed(0)
    choice = ASK[rival](record)
    task = TASKS[record["task"]]
    return {
        "task": record["task"],
        "noise": record["noise"],
        "seed": record["seed"],
        "true": float(f"{mean_at(task, settings_by_name(task, record['X'][choice.trial])):.6g}"),
        "stated": float(f"{choice.stated:.6g}"),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rivals", nargs="*", choices=list(RIVALS), default=list(RIVALS))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="at most so many")
    given = parser.parse_args()
    records = [r for r in read_lines(RESULTS) if r["seed"] < given.repetitions]
    for rival in given.rivals:
        known = {(r["task"], r["noise"], r["seed"]) for r in read_lines(RIVALS[rival])}
        for record in records:
            if (record["task"], record["noise"], record["seed"]) not in known:
                append(RIVALS[rival], execute(rival, record))


if __name__ == "__main__":
    main()
