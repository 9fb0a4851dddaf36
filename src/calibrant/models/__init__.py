"""Models of the objective: ``fit(X, y)`` gives a belief, which forecasts outcomes.

Owns: what a model is (:mod:`~calibrant.models.protocol`), Gaussian processes with their kernels,
hyper-parameters and output maps, what is made of several of them, and models that adjust the belief
of another.
May use: core, forecasts.
Public names: below; the kernels also in :mod:`calibrant.models.kernels`.
"""

from calibrant.models.bagging import BaggedProcesses
from calibrant.models.fitted_gp import FittedGP
from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels import (
    RBF,
    Additive,
    Kernel,
    Kumaraswamy,
    Linear,
    Matern32,
    Matern52,
    Periodic,
)
from calibrant.models.likelihood import Priors
from calibrant.models.local import LocallyConformal
from calibrant.models.protocol import FittedModel, Model
from calibrant.models.relaxed import Relaxed
from calibrant.models.rotation import Rotation
from calibrant.models.sharp import SharpCalibrated

__all__ = [
    "RBF",
    "Additive",
    "BaggedProcesses",
    "FittedGP",
    "FittedModel",
    "GaussianProcess",
    "Kernel",
    "Kumaraswamy",
    "Linear",
    "LocallyConformal",
    "Matern32",
    "Matern52",
    "Model",
    "Periodic",
    "Priors",
    "Relaxed",
    "Rotation",
    "SharpCalibrated",
]
