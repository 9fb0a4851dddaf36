"""BoTorch's qLogNEHVI and Ax on the problems with several objectives that are held out.

    python -m benchmarks.objectives.rivals --minutes 30

In an environment that has both (``make test-torch`` makes one). An ask of theirs takes a second and
more, so they search as often as the minutes allow, BoTorch first. The first settings and what is
kept of a search are those of the other systems.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from benchmarks.kit.lines import append
from benchmarks.kit.running import commit
from benchmarks.objectives.problems import HELD_OUT, PROBLEMS
from benchmarks.objectives.run import (
    PLANNED,
    RESULTS,
    RIVALS,
    TRIALS,
    first_points,
    results,
    volumes_of,
)

Space = Mapping[str, BaseDistribution]
Setting = Mapping[str, float]
Ends = dict[str, tuple[float, float]]


class Rival(Protocol):
    """A system that is told outcomes and asked for the next setting."""

    def tell(self, setting: Setting, values: tuple[float, ...]) -> None: ...

    def ask(self) -> dict[str, float]: ...


def ends_of(space: Space) -> Ends:
    """Return the lowest and the highest value of each parameter; all are numbers."""
    numbers = (FloatDistribution, IntDistribution)
    found = {n: (d.low, d.high) for n, d in space.items() if isinstance(d, numbers) and not d.log}
    if len(found) < len(space):
        raise ValueError(f"All parameters must be numbers on plain scales, but got {dict(space)}.")
    return found


class NoisyHypervolume:
    """BoTorch: a SingleTaskGP of each objective, and their log noisy hypervolume improvement."""

    def __init__(self, space: Space) -> None:
        self._ends = ends_of(space)
        self._bounds = torch.tensor(list(self._ends.values()), dtype=torch.double).T
        self._whole = {
            i: [float(v) for v in range(of.low, of.high + 1)]
            for i, of in enumerate(space.values())
            if isinstance(of, IntDistribution)
        }
        self._X: list[list[float]] = []
        self._Y: list[list[float]] = []

    def tell(self, setting: Setting, values: tuple[float, ...]) -> None:
        self._X.append([float(setting[name]) for name in self._ends])
        self._Y.append([-value for value in values])

    def ask(self) -> dict[str, float]:
        from botorch.acquisition.multi_objective.logei import (
            qLogNoisyExpectedHypervolumeImprovement,
        )
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Normalize, Standardize
        from botorch.optim import optimize_acqf, optimize_acqf_mixed_alternating
        from botorch.sampling.normal import SobolQMCNormalSampler
        from botorch.utils.multi_objective.hypervolume import infer_reference_point
        from botorch.utils.multi_objective.pareto import is_non_dominated
        from gpytorch.mlls import SumMarginalLogLikelihood

        X, Y = (torch.tensor(rows, dtype=torch.double) for rows in (self._X, self._Y))
        models = []
        for column in Y.T:
            scale = Normalize(X.shape[1], bounds=self._bounds)
            units = {"input_transform": scale, "outcome_transform": Standardize(m=1)}
            models.append(SingleTaskGP(X, column[:, None], **units))
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        goal = qLogNoisyExpectedHypervolumeImprovement(
            model,
            infer_reference_point(Y[is_non_dominated(Y)]),  # nobody is told of another
            X,
            sampler=SobolQMCNormalSampler(torch.Size([128])),
            prune_baseline=True,
        )
        effort = {"bounds": self._bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
        if self._whole:
            found, _ = optimize_acqf_mixed_alternating(goal, discrete_dims=self._whole, **effort)
        else:
            found, _ = optimize_acqf(goal, **effort)
        values = zip(self._ends, found.squeeze(0).tolist(), strict=True)
        return {n: round(v) if i in self._whole else v for i, (n, v) in enumerate(values)}


class AxClient:
    """Ax: its Client with the default generation strategy."""

    def __init__(self, space: Space, objectives: int, seed: int) -> None:
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        self._client = Client(random_seed=seed)
        whole = {name for name, of in space.items() if isinstance(of, IntDistribution)}
        self._client.configure_experiment(
            [
                RangeParameterConfig(name, ends, "int" if name in whole else "float")
                for name, ends in ends_of(space).items()
            ]
        )
        self._names = [f"value_{i}" for i in range(objectives)]
        self._client.configure_optimization(", ".join(f"-{name}" for name in self._names))
        self._client.configure_generation_strategy(initialization_budget=0)
        self._asked: int | None = None

    def tell(self, setting: Setting, values: tuple[float, ...]) -> None:
        trial, self._asked = self._asked, None
        if trial is None:
            trial = self._client.attach_trial(dict(setting))
        self._client.complete_trial(trial, dict(zip(self._names, values, strict=True)))

    def ask(self) -> dict[str, float]:
        ((self._asked, setting),) = self._client.get_next_trials(max_trials=1).items()
        return dict(setting)


def execute(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search, as :mod:`~benchmarks.objectives.run` does."""
    warnings.simplefilter("ignore")
    logging.disable()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what the libraries draw from
    problem, Y = PROBLEMS[name], []
    count = len(problem.reference)
    began = time.process_time()
    rival: Rival = (
        NoisyHypervolume(problem.space)
        if system == "botorch"
        else AxClient(problem.space, count, seed)
    )
    told = first_points(name, seed)
    while len(Y) < TRIALS:
        setting = told[len(Y)] if len(Y) < len(told) else rival.ask()
        Y.append(problem.evaluate(setting))
        rival.tell(setting, Y[-1])
    return {
        "system": system,
        "problem": name,
        "seed": seed,
        "volumes": volumes_of(name, np.array(Y)),
        "seconds": round(time.process_time() - began, 2),
        "commit": commit(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what is missing.")
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="of CPU, after which none begins"
    )
    end = 60.0 * parser.parse_args().minutes
    known = results()
    for system in RIVALS:
        for seed in range(PLANNED[system]):
            for name in HELD_OUT:
                if (system, name, seed) in known:
                    continue
                if time.process_time() > end:
                    return
                append(RESULTS, execute(system, name, seed))


if __name__ == "__main__":
    main()
