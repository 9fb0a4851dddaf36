"""The systems whose asks are timed, each as an Optuna sampler with its own default settings."""

from __future__ import annotations

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler


def calibrant(seed: int) -> BaseSampler:
    from calibrant import CalibratedSampler

    return CalibratedSampler(seed=seed)


def calibrant_raw(seed: int) -> BaseSampler:
    from calibrant import CalibratedSampler

    return CalibratedSampler(recalibrator=None, seed=seed)


def optuna_gp(seed: int) -> BaseSampler:
    import torch

    torch.set_num_threads(1)
    return optuna.samplers.GPSampler(seed=seed)


def botorch(seed: int) -> BaseSampler:
    import torch

    torch.set_num_threads(1)
    return BoTorchSampler(seed)


class BoTorchSampler(BaseSampler):
    """BoTorch as its tutorials use it: a single-task GP, log-EI, ten restarts of 512 samples."""

    def __init__(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._random = RandomSampler(seed=seed)

    def infer_relative_search_space(self, study, trial):
        return optuna.search_space.intersection_search_space(study.get_trials(deepcopy=False))

    def sample_relative(self, study, trial, search_space):
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        states = (optuna.trial.TrialState.COMPLETE,)
        trials = study.get_trials(deepcopy=False, states=states)
        names = sorted(search_space)
        X = torch.tensor([[t.params[name] for name in names] for t in trials], dtype=torch.double)
        y = -torch.tensor([[t.value] for t in trials], dtype=torch.double)
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=y.max())
        bounds = torch.stack([torch.zeros(len(names)), torch.ones(len(names))]).double()
        best, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        return dict(zip(names, np.asarray(best[0]).tolist(), strict=True))

    def sample_independent(self, study, trial, name, distribution):
        return self._random.sample_independent(study, trial, name, distribution)


SAMPLERS = {
    "calibrant": calibrant,
    "calibrant uncalibrated": calibrant_raw,
    "Optuna GPSampler": optuna_gp,
    "BoTorch log-EI": botorch,
}
