"""Noise known of each measurement: its std differs by a factor of ten over the space, and is told.

Searches of 20 evaluations; what counts is the true value of the setting that a system ends with:
what calibrant recommends, the evaluated point with the lowest posterior mean of BoTorch, and the
best evaluation of Optuna's samplers, which recommend nothing else.

    calibrant       told the stds
    without-stds    the same, not told
    botorch         a Gaussian process given the variances, noisy expected improvement (qLogNEI)
    optuna-gp       Optuna's GPSampler, which learns one noise for all
    random          at random
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, RandomSampler

import calibrant
from benchmarks.problems.kinds import FIRST, Kind
from calibrant.test_functions import Problem, branin, hartmann

PROBLEMS: dict[str, Problem] = {"branin": branin(), "hartmann 3": hartmann(3)}
_TRIALS = 20
_STDS = (0.05, 0.5)  # of the noise, as shares of the std of the function over the space


def play(system: str, name: str, seed: int) -> dict[str, Any]:
    """Return the true value of the setting that a system ends with."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = PROBLEMS[name]
    measure = _Measurements(name, problem, seed)
    if system == "botorch":
        chosen = _by_botorch(problem, measure, seed)
    else:
        chosen = _by_optuna(system, problem, measure, seed)
    return {"values": [float(problem.on_cube(chosen))]}


class _Measurements:
    """Noisy evaluations on the unit cube, whose luck depends on their number alone."""

    def __init__(self, name: str, problem: Problem, seed: int) -> None:
        rng = np.random.default_rng([len(name), *name.encode()])
        self._problem = problem
        self._weights = rng.dirichlet(np.ones(problem.dim))
        self._turned = rng.random(problem.dim) < 0.5
        self.spread = float(problem.on_cube(rng.random((4000, problem.dim))).std())
        self._luck = np.random.default_rng([seed, 1]).standard_normal(_TRIALS)
        self.first = np.random.default_rng([seed, 2]).random((FIRST, problem.dim))
        self._made = 0

    def __call__(self, u: np.ndarray) -> tuple[float, float]:
        place = float(np.where(self._turned, 1.0 - u, u) @ self._weights)
        low, high = np.log(_STDS)
        std = self.spread * float(np.exp(low + (high - low) * place))
        self._made += 1
        return float(self._problem.on_cube(u)) + std * float(self._luck[self._made - 1]), std


def _by_optuna(system: str, problem: Problem, measure: _Measurements, seed: int) -> np.ndarray:
    names = [f"u{i}" for i in range(problem.dim)]
    sampler: BaseSampler = {
        "random": lambda: RandomSampler(seed=seed),
        "optuna-gp": lambda: GPSampler(seed=seed, n_startup_trials=FIRST),
    }.get(system, lambda: calibrant.CalibratedSampler(seed=seed))()
    study = optuna.create_study(sampler=sampler)
    for u in measure.first:
        study.enqueue_trial(dict(zip(names, u.tolist(), strict=True)))

    def objective(trial: optuna.Trial) -> float:
        value, std = measure(np.array([trial.suggest_float(name, 0.0, 1.0) for name in names]))
        if system == "calibrant":
            calibrant.set_std(trial, std)
        return value

    study.optimize(objective, n_trials=_TRIALS)
    ours = system in ("calibrant", "without-stds")
    params = calibrant.recommend(study).params if ours else study.best_params
    return np.array([params[name] for name in names])


def _by_botorch(problem: Problem, measure: _Measurements, seed: int) -> np.ndarray:
    import torch
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    X = [torch.tensor(u, dtype=torch.double) for u in measure.first]
    told = [measure(u) for u in measure.first]
    bounds = torch.tensor([[0.0] * problem.dim, [1.0] * problem.dim], dtype=torch.double)
    while True:
        y = -torch.tensor([value for value, _ in told], dtype=torch.double)[:, None]
        variances = torch.tensor([std**2 for _, std in told], dtype=torch.double)[:, None]
        inputs = torch.stack(X)
        # It standardises outcomes, and their variances with them.
        model = SingleTaskGP(inputs, y, variances)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if len(X) == _TRIALS:
            means = model.posterior(inputs).mean[:, 0]
            return inputs[int(means.argmax())].numpy()
        criterion = qLogNoisyExpectedImprovement(model, inputs, prune_baseline=True)
        x, _ = optimize_acqf(criterion, bounds, q=1, num_restarts=4, raw_samples=128)
        X.append(x[0].detach())
        told.append(measure(X[-1].numpy()))


def scales() -> dict[str, tuple[float, float]]:
    """Return the minimum of each task, and the mean of random points."""
    rng = np.random.default_rng(0)
    return {
        name: (problem.minimum, float(problem.on_cube(rng.random((4000, problem.dim))).mean()))
        for name, problem in PROBLEMS.items()
    }


KIND = Kind(
    "noise",
    "Noise known of each measurement",
    (__doc__ or "").strip(),
    {
        system: partial(play, system)
        for system in ("calibrant", "without-stds", "botorch", "optuna-gp", "random")
    },
    scales,
    _TRIALS,
)
