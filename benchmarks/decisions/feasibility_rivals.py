"""BoTorch's constrained EI and Ax on the problems of :mod:`benchmarks.decisions.feasibility`.

    python -m benchmarks.decisions.feasibility_rivals

In an environment that has both (``make test-torch`` makes one). An ask of theirs takes a second or
two, so they are asked on three of the five problems. The first settings, the noise and what is kept
of a search are those of the other systems.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import optuna
import torch

from benchmarks.decisions.constrained import Limits, Space, problem
from benchmarks.decisions.feasibility import (
    FIRST,
    NOISES,
    RESULTS,
    RIVAL_PROBLEMS,
    RIVALS,
    TRIALS,
    Objective,
    random_setting,
    record,
)
from benchmarks.kit.lines import append, read_lines
from benchmarks.kit.running import run_missing

Setting = Mapping[str, float]
REPETITIONS = 30


class Rival(Protocol):
    """A system that is told outcomes and asked for the next setting."""

    def tell(self, setting: Setting, value: float, limits: Limits) -> None: ...

    def ask(self) -> dict[str, float]: ...


class ConstrainedEI:
    """BoTorch: a SingleTaskGP of the objective and of each limit, and their log constrained EI.

    Until a setting has met all limits it maximises the probability that the next one does.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._bounds = torch.tensor(list(space.values()), dtype=torch.double).T
        self._whole = {
            i: [float(v) for v in range(low, high + 1)]
            for i, (low, high) in enumerate(space.values())
            if isinstance(low, int) and isinstance(high, int)
        }
        self._X: list[list[float]] = []
        self._Y: list[list[float]] = []

    def tell(self, setting: Setting, value: float, limits: Limits) -> None:
        self._X.append([float(setting[name]) for name in self._space])
        self._Y.append([-value, *limits.values()])

    def ask(self) -> dict[str, float]:
        from botorch.acquisition.analytic import (
            LogConstrainedExpectedImprovement,
            LogProbabilityOfFeasibility,
        )
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Normalize, Standardize
        from botorch.optim import optimize_acqf, optimize_acqf_mixed_alternating
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X, Y = (torch.tensor(rows, dtype=torch.double) for rows in (self._X, self._Y))
        models = []
        for column in Y.T:
            scale = Normalize(X.shape[1], bounds=self._bounds)
            units = {"input_transform": scale, "outcome_transform": Standardize(m=1)}
            models.append(SingleTaskGP(X, column[:, None], **units))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(models[-1].likelihood, models[-1]))
        met = (Y[:, 1:] <= 0.0).all(dim=1)
        limits = dict.fromkeys(range(1, Y.shape[1]), (None, 0.0))
        if met.any():
            best = Y[met, 0].max()
            goal = LogConstrainedExpectedImprovement(ModelListGP(*models), best, 0, limits)
        else:
            shifted = {i - 1: ends for i, ends in limits.items()}
            # A list of one model has no outcome of its own to choose from.
            beliefs = ModelListGP(*models[1:]) if len(models) > 2 else models[1]
            goal = LogProbabilityOfFeasibility(beliefs, shifted)
        effort = {"bounds": self._bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
        if self._whole:
            found, _ = optimize_acqf_mixed_alternating(goal, discrete_dims=self._whole, **effort)
        else:
            found, _ = optimize_acqf(goal, **effort)
        values = zip(self._space, found.squeeze(0).tolist(), strict=True)
        return {n: round(v) if i in self._whole else v for i, (n, v) in enumerate(values)}


class AxClient:
    """Ax: its Client with the default generation strategy and one outcome constraint per limit."""

    def __init__(self, space: Space, limits: Sequence[str], seed: int) -> None:
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        self._names = {limit: f"limit_{i}" for i, limit in enumerate(limits)}
        self._client = Client(random_seed=seed)
        kinds = {
            name: "int" if isinstance(ends[0], int) else "float" for name, ends in space.items()
        }
        self._client.configure_experiment(
            [RangeParameterConfig(name, ends, kinds[name]) for name, ends in space.items()]
        )
        constraints = [f"{name} <= 0.0" for name in self._names.values()]
        self._client.configure_optimization("-value", constraints)
        self._client.configure_generation_strategy(initialization_budget=0)
        self._asked: int | None = None

    def tell(self, setting: Setting, value: float, limits: Limits) -> None:
        trial, self._asked = self._asked, None
        if trial is None:
            trial = self._client.attach_trial(dict(setting))
        said = {self._names[name]: limit for name, limit in limits.items()}
        self._client.complete_trial(trial, {"value": value, **said})

    def ask(self) -> dict[str, float]:
        ((self._asked, setting),) = self._client.get_next_trials(max_trials=1).items()
        return dict(setting)


def execute(system: str, name: str, noise: float, seed: int) -> dict[str, Any]:
    """Return what is to be kept of a search, as :mod:`~benchmarks.decisions.feasibility` does."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    warnings.simplefilter("ignore")
    logging.disable()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what the libraries draw from
    space, objective = problem(name).space, Objective(name, noise, seed)
    first = np.random.default_rng([seed, 5])
    settings = [random_setting(name, first) for _ in range(FIRST)]
    limits = list(problem(name).evaluate(settings[0])[1])
    rival: Rival = ConstrainedEI(space) if system == "botorch" else AxClient(space, limits, seed)
    study = optuna.create_study()
    for step in range(TRIALS):
        setting = settings[step] if step < FIRST else rival.ask()
        study.enqueue_trial(dict(setting))
        study.optimize(objective, n_trials=1)
        trial = study.trials[-1]
        rival.tell(trial.params, trial.value, dict(trial.constraints))
    return record(system, name, noise, seed, study)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="at most so many")
    parser.add_argument("--only", choices=RIVALS, help="one of them")
    given = parser.parse_args(arguments)
    known = {(r["system"], r["problem"], r["noise"], r["seed"]) for r in read_lines(RESULTS)}
    every = [
        (system, name, noise, seed)
        for seed in range(given.repetitions)
        for name in RIVAL_PROBLEMS
        for noise in NOISES
        for system in RIVALS
        if given.only in (None, system)
    ]
    missing = [run for run in every if run not in known]
    run_missing(execute, missing, partial(append, RESULTS), given.jobs)


if __name__ == "__main__":
    main()
