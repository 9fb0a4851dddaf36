"""Models of the objective: one a file."""

from calibrant.models.additive import Additive
from calibrant.models.bagging import BaggedProcesses
from calibrant.models.gp import FittedGP, GaussianProcess
from calibrant.models.kernels import RBF, Kernel, Linear, Matern32, Matern52, Periodic
from calibrant.models.likelihood import Priors
from calibrant.models.protocol import FittedModel, Model
from calibrant.models.rotation import Rotation
from calibrant.models.warping import Kumaraswamy

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
    "Matern32",
    "Matern52",
    "Model",
    "Periodic",
    "Priors",
    "Rotation",
]
