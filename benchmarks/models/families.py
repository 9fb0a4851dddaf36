"""The families of models, and one search with each.

A search is the paper's: five points of a Latin hypercube, then the model's choice, calibrated or
not. What is kept: the value of each point, and of each forecast made before its outcome the PIT and
the CRPS, as the model had it and as it would have been shown, recalibrated online.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.peers.adapters.worker import from_unit
from benchmarks.peers.functions import functions, noisy
from calibrant.core.cube import as_cube
from calibrant.evaluation import metrics
from calibrant.forecasts import Forecast, Normal
from calibrant.models import GaussianProcess
from calibrant.recalibration import (
    ChainRecalibrator,
    GaussianRecalibrator,
    OnlineRecalibrator,
    ScoreLog,
)
from calibrant.search.defaults import MODEL, RECALIBRATOR
from calibrant.search.history import History
from calibrant.search.step import Policy

TASKS = {task.name: task for task in (*functions(), *noisy())}
# What recalibrates the forecasts online, the same for all families since the first was run.
_SHOWN = ChainRecalibrator(
    GaussianRecalibrator(strength=5.0, limit=4.0), OnlineRecalibrator(rate=0.03)
)
PROBLEMS = ("branin", "hartmann-6", "branin, noisy")
FIRST, BUDGET = 5, 30


def _sklearn(make: Callable[[Any], Any]) -> Callable[[], Any]:
    def build() -> Any:
        from calibrant.bridges import sklearn

        return make(sklearn)

    return build


def _process(sklearn: Any) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(0.3, (0.03, 10.0), nu=2.5) + WhiteKernel(1e-3, (1e-6, 1.0))
    return sklearn.GaussianRegressor(GaussianProcessRegressor(kernel))


def _ridge(sklearn: Any) -> Any:
    from sklearn.linear_model import BayesianRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    class QuadraticRidge(BayesianRidge):
        """Bayesian ridge regression on squares and products of the inputs."""

        def _features(self, X: np.ndarray) -> np.ndarray:
            return make_pipeline(PolynomialFeatures(2, include_bias=False)).fit_transform(X)

        def fit(self, X: np.ndarray, y: np.ndarray) -> QuadraticRidge:
            return super().fit(self._features(X), y)

        def predict(self, X: np.ndarray, return_std: bool = False) -> Any:
            return super().predict(self._features(X), return_std=return_std)

    return sklearn.GaussianRegressor(QuadraticRidge())


def _trees(sklearn: Any) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return sklearn.Forest(
        ExtraTreesRegressor(100, min_samples_leaf=3, bootstrap=True, random_state=0)
    )


def _networks(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import torch

        from calibrant.bridges import networks

        return getattr(networks, name)(device="cuda" if torch.cuda.is_available() else "cpu")

    return build


FAMILIES: dict[str, Callable[[], Any]] = {
    "the default: processes in turns": lambda: MODEL,
    "Gaussian process": GaussianProcess,
    "Gaussian process, maximum likelihood": lambda: GaussianProcess(priors=None),
    "scikit-learn: Gaussian process": _sklearn(_process),
    "scikit-learn: Bayesian ridge, quadratic": _sklearn(_ridge),
    "scikit-learn: random forest": _sklearn(lambda sklearn: sklearn.Forest()),
    "scikit-learn: extra trees": _sklearn(_trees),
    "scikit-learn: boosted quantiles": _sklearn(lambda sklearn: sklearn.boosted_quantiles()),
    "deep ensemble": _networks("DeepEnsemble"),
    "Bayesian last layer (DNGO)": _networks("BayesianLastLayer"),
    "BoTorch: SingleTaskGP": lambda: None,
}


def search(family: str, problem: str, *, calibrated: bool, seed: int) -> dict[str, Any]:
    """Return what is to be kept of one search."""
    task, noise = TASKS[problem], np.random.default_rng([seed, 1])
    cube = as_cube(len(task.space))
    X = cube.design("latin", FIRST, np.random.default_rng([seed, 2]))
    choose = _botorch if family.startswith("BoTorch") else _policy(FAMILIES[family](), cube)
    values, outcomes, forecasts = [], [], []
    scored, rng = ScoreLog(), np.random.default_rng(seed)
    for step in range(BUDGET):
        if step >= FIRST:
            x, forecast = choose(X, np.array(outcomes), scored, rng, calibrated)
            X = np.vstack([X, x])
        x = X[step]
        settings = {p["name"]: from_unit(p, float(u)) for p, u in zip(task.space, x, strict=True)}
        evaluation = task.evaluate(settings, noise)
        values.append(float(f"{evaluation.mean:.7g}"))
        outcomes.append(evaluation.outcome)
        if step >= FIRST:
            scored = scored.record(forecast, evaluation.outcome)
            forecasts.append((forecast, evaluation.outcome))
    return {"values": values, **_judged(forecasts)}


Chosen = tuple[np.ndarray, Forecast]


def _policy(model: Any, cube: Any) -> Callable[..., Chosen]:
    fits = None

    def choose(
        X: np.ndarray, y: np.ndarray, scored: ScoreLog, rng: np.random.Generator, calibrated: bool
    ) -> Chosen:
        nonlocal fits
        history = replace(
            History.empty(cube.dim),
            X=X,
            Y=y[:, None],
            constraints=np.empty((y.size, 0)),
            online=(scored,),
            was_forecast=np.zeros(y.size, dtype=bool),
        )
        policy = Policy(model, RECALIBRATOR if calibrated else None, patience=None)
        suggestion = policy.suggest(history, cube, rng, fits)
        fits = suggestion.fits
        return suggestion.x, suggestion.forecasts[0]

    return choose


def _botorch(
    X: np.ndarray, y: np.ndarray, scored: ScoreLog, rng: np.random.Generator, calibrated: bool
) -> Chosen:
    """Choose as a BoTorch user would; BoTorch maximises, so outcomes change sign."""
    import torch
    from botorch.acquisition.analytic import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    from calibrant.bridges.botorch import CalibratedLogExpectedImprovement, CalibratedModel

    inputs, targets = torch.from_numpy(X), torch.from_numpy(-y[:, None])
    model = SingleTaskGP(inputs, targets)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    best = targets.max().item()
    if calibrated:
        ours = CalibratedModel.from_leave_one_out(model, RECALIBRATOR)
        acquisition = CalibratedLogExpectedImprovement(ours, best_f=best)
    else:
        acquisition = LogExpectedImprovement(model, best_f=best)
    torch.manual_seed(int(rng.integers(2**31)))
    bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).to(inputs)
    x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=5, raw_samples=128)
    with torch.no_grad():
        posterior = model.posterior(x, observation_noise=True)
    forecast = Normal(-posterior.mean.item(), posterior.variance.sqrt().item())
    return x[0].numpy(), forecast


def _judged(forecasts: list[tuple[Forecast, float]]) -> dict[str, list[float]]:
    """Return PIT and CRPS of each forecast: the model's own, and recalibrated online."""
    shown = _SHOWN
    found: dict[str, list[float]] = {k: [] for k in ("pit", "shown_pit", "crps", "shown_crps")}
    for raw, outcome in forecasts:
        for kind, forecast in (("", raw), ("shown_", shown.calibrate(raw))):
            found[f"{kind}pit"].append(round(float(forecast.cdf(outcome)), 4))
            found[f"{kind}crps"].append(float(f"{metrics.crps(forecast, outcome):.4g}"))
        shown = shown.observe(raw, outcome)
    return found
