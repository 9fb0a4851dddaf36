"""Kernels: correlation functions of points on the unit cube, with their derivatives."""

from calibrant.models.kernels.additive import Additive
from calibrant.models.kernels.base import Kernel
from calibrant.models.kernels.informed import Informed
from calibrant.models.kernels.input_warping import Kumaraswamy
from calibrant.models.kernels.linear import Linear
from calibrant.models.kernels.stationary import RBF, Matern32, Matern52, Periodic, Stationary

__all__ = [
    "RBF",
    "Additive",
    "Informed",
    "Kernel",
    "Kumaraswamy",
    "Linear",
    "Matern32",
    "Matern52",
    "Periodic",
    "Stationary",
]
