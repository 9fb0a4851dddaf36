"""A BoTorch loop with calibrated posteriors: Hartmann's function of six variables, with noise.

Needs BoTorch: pip install botorch. About half a minute.

It has two recalibrators. One learns from leave-one-out scores, for the acquisition function. The
other learns from forecasts made before each evaluation, for the intervals that are shown.
"""

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood

from calibrant import (
    ChainRecalibrator,
    GaussianRecalibrator,
    LeaderRecalibrator,
    OnlineRecalibrator,
)
from calibrant.bridges.botorch import CalibratedModel, scores

torch.manual_seed(0)
function = Hartmann(dim=6, noise_std=0.1, negate=True)
bounds = function.bounds.double()
levels = torch.tensor([0.1, 0.9], dtype=torch.double)

X = torch.rand(10, 6, dtype=torch.double)
Y = function(X).unsqueeze(-1)
# Location and scale are learned fast, and the online recalibrator corrects what is left.
shown = ChainRecalibrator(
    GaussianRecalibrator(strength=5.0, limit=4.0), OnlineRecalibrator(rate=0.03)
)
held, raw_held = [], []
for _ in range(30):
    model = SingleTaskGP(X, Y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    calibrated = CalibratedModel.from_leave_one_out(model, LeaderRecalibrator())
    acquisition = qLogNoisyExpectedImprovement(calibrated, X, cache_root=False)
    x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=64)

    forecast = CalibratedModel(model, shown).posterior(x, observation_noise=True)
    low, high = (quantile.item() for quantile in forecast.quantile(levels))
    y = function(x).unsqueeze(-1)
    held.append(low <= y.item() <= high)
    raw = model.posterior(x, observation_noise=True)
    raw_low, raw_high = (quantile.item() for quantile in raw.quantile(levels))
    raw_held.append(raw_low <= y.item() <= raw_high)
    shown = shown.update_scores(scores(model, x, y)[0])  # before the model learns of y
    X, Y = torch.cat([X, x]), torch.cat([Y, y])

best = function(X, noise=False).max().item()
print(f"best {best:.2f} of {function.optimal_value:.2f}")
print(
    f"80 % intervals held {sum(held) / len(held):.0%} of {len(held)} times; "
    f"the model's own held {sum(raw_held) / len(held):.0%}"
)
