"""Gaussian processes that know other functions, and the same ones without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from calibrant.models.gp import GaussianProcess
from calibrant.models.kernels.base import Kernel
from calibrant.models.kernels.informed import Feature, Informed
from calibrant.models.protocol import Model
from calibrant.models.rotation import Rotation


def informed(model: Model, features: tuple[Feature, ...]) -> Model:
    """Return the model of a function that may be like the known ones.

    Raises:
        ValueError: for a model that is neither a Gaussian process nor a rotation of some.
    """
    if not isinstance(model, GaussianProcess | Rotation):
        raise ValueError(
            "What is known beforehand can be told to a GaussianProcess or a Rotation, but the "
            f"model is {type(model).__name__}: leave out `earlier`, or the model."
        )
    return _with_kernels(model, lambda kernel: Informed(kernel=kernel, features=features))


def uninformed(model: Model) -> Model:
    """Return the model as it is for functions of which nothing is known."""
    if not isinstance(model, GaussianProcess | Rotation):
        return model
    processes = model.processes if isinstance(model, Rotation) else (model,)
    if not any(isinstance(process.kernel, Informed) for process in processes):
        return model
    return _with_kernels(model, lambda k: k.inner if isinstance(k, Informed) else k)


def _with_kernels(
    model: GaussianProcess | Rotation, change: Callable[[Kernel], Kernel]
) -> GaussianProcess | Rotation:
    if isinstance(model, Rotation):
        return Rotation(tuple(replace(p, kernel=change(p.kernel)) for p in model.processes))
    return replace(model, kernel=change(model.kernel))
